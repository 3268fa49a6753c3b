import StratusRecords

/// `users/current`: returns the caller in the older form.
public enum UsersCurrent: Endpoint {
    public static let path = "users/current"
    public static let isReadWithoutBody = true

    public typealias Request = EmptyBody

    public struct Answer: WireValue {
        /// The record name of the caller.
        public var userRecordName: String
        /// The given name; nil if there is none or other users cannot find the caller in the container.
        public var firstName: String?
        /// The family name; nil if there is none or other users cannot find the caller in the container.
        public var lastName: String?

        /// Makes the answer about the caller.
        public init(userRecordName: String, firstName: String? = nil, lastName: String? = nil) {
            self.userRecordName = userRecordName
            self.firstName = firstName
            self.lastName = lastName
        }
    }
}

extension UsersCurrent.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(
            userRecordName: try node.required("userRecordName"),
            firstName: try node.optional("firstName"),
            lastName: try node.optional("lastName"))
    }

    /// Writes names that may not be shown as null, as the service does.
    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("userRecordName", userRecordName)
            writer.key("firstName")
            if let firstName { writer.string(firstName) } else { writer.null() }
            writer.key("lastName")
            if let lastName { writer.string(lastName) } else { writer.null() }
        }
    }
}
