import StratusRecords

/// `users/current`: who asks, in the older form.
public enum UsersCurrent: Endpoint {
    public static let path = "users/current"
    public static let isReadWithoutBody = true

    public typealias Request = EmptyBody

    public struct Answer: Hashable, Sendable {
        public var userRecordName: String
        public var firstName: String?
        public var lastName: String?

        public init(userRecordName: String, firstName: String? = nil, lastName: String? = nil) {
            self.userRecordName = userRecordName
            self.firstName = firstName
            self.lastName = lastName
        }
    }
}
