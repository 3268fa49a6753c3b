import StratusRecords

/// `users/permission`: whether others of the container may find the caller, by e-mail address or record name.
///
/// An extension: CloudKit leaves the question to the device (`requestApplicationPermission`).
public enum UsersPermission: Endpoint {
    public static let path = "users/permission"
    public static let isReadWithoutBody = true

    public struct Request: WireObject, Hashable, Sendable {
        /// Nil only reads the current value.
        public var userDiscoverability: Bool?

        /// Makes a request to set the permission, or with nil to read it.
        public init(userDiscoverability: Bool? = nil) {
            self.userDiscoverability = userDiscoverability
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.optional("userDiscoverability", &userDiscoverability)
        }
    }

    public struct Answer: WireObject, Hashable, Sendable {
        /// Whether other users may find the caller in the container, after the request.
        public var userDiscoverability = false

        /// Makes the answer with the current value.
        public init(userDiscoverability: Bool) {
            self.userDiscoverability = userDiscoverability
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("userDiscoverability", &userDiscoverability)
        }
    }
}
