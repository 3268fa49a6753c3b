import StratusRecords

/// `users/permission`: whether others of the container may find the caller by the e-mail address.
///
/// An extension: CloudKit leaves the question to the device (`requestApplicationPermission`).
public enum UsersPermission: Endpoint {
    public static let path = "users/permission"
    public static let isReadWithoutBody = true

    public struct Request: WireValue {
        /// Nil asks and changes nothing.
        public var userDiscoverability: Bool?

        public init(userDiscoverability: Bool? = nil) {
            self.userDiscoverability = userDiscoverability
        }
    }

    public struct Answer: WireValue {
        public var userDiscoverability: Bool

        public init(userDiscoverability: Bool) {
            self.userDiscoverability = userDiscoverability
        }
    }
}

extension UsersPermission.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(userDiscoverability: try node.optional("userDiscoverability"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.optional("userDiscoverability", userDiscoverability) }
    }
}

extension UsersPermission.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(userDiscoverability: try node.required("userDiscoverability"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("userDiscoverability", userDiscoverability) }
    }
}
