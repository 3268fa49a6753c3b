import StratusRecords

/// `users/permission`: whether others of the container may find the caller by the e-mail address.
///
/// An extension: CloudKit leaves the question to the device (`requestApplicationPermission`).
public enum UsersPermission: Endpoint {
    public static let path = "users/permission"
    public static let isReadWithoutBody = true

    public struct Request: WireObject, Hashable, Sendable {
        /// Nil only reads the current value.
        public var userDiscoverability: Bool?

        public init(userDiscoverability: Bool? = nil) {
            self.userDiscoverability = userDiscoverability
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.optional("userDiscoverability", &userDiscoverability)
        }
    }

    public struct Answer: WireObject, Hashable, Sendable {
        public var userDiscoverability = false

        public init(userDiscoverability: Bool) {
            self.userDiscoverability = userDiscoverability
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("userDiscoverability", &userDiscoverability)
        }
    }
}
