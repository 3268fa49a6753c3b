import StratusRecords

/// `users/caller`: who asks.
public enum UsersCaller: Endpoint {
    public static let path = "users/caller"
    public static let isReadWithoutBody = true

    public typealias Request = EmptyBody

    /// The caller's identity, bare, as CloudKit JS reads it; its documentation's `users` array is
    /// written beside it.
    public struct Answer: Hashable, Sendable {
        public var identity: UserIdentityDictionary

        public init(identity: UserIdentityDictionary) {
            self.identity = identity
        }
    }
}

/// A person as the protocol describes one.
public struct UserIdentityDictionary: Hashable, Sendable {
    public var userRecordName: String?
    public var givenName: String?
    public var familyName: String?
    public var emailAddress: String?

    public init(
        userRecordName: String?, givenName: String? = nil, familyName: String? = nil,
        emailAddress: String? = nil
    ) {
        self.userRecordName = userRecordName
        self.givenName = givenName
        self.familyName = familyName
        self.emailAddress = emailAddress
    }
}
