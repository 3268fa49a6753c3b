import StratusRecords

/// `users/discover`: the identities of people whom the caller knows by e-mail address or record name.
///
/// A request without a body asks for the caller's contacts, which this service does not have.
public enum UsersDiscover: Endpoint {
    public static let path = "users/discover"
    public static let isReadWithoutBody = true

    public struct Request: WireObject, Hashable, Sendable {
        /// The people to find; at most `Limits.operationsPerRequest`. An empty list gets an empty answer.
        public var lookupInfos: [UserLookupInfo] = []

        /// Makes a request to find people.
        public init(lookupInfos: [UserLookupInfo]) {
            self.lookupInfos = lookupInfos
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.defaulted("lookupInfos", &lookupInfos)
        }
    }

    /// One identity per lookup in the request's order; for people who cannot be found, it only repeats the lookup.
    public typealias Answer = ListBody<UserIdentityDictionary>
}

/// How a person is looked up: by one of the first three members; in an invitation, by any one.
public struct UserLookupInfo: WireObject, Hashable, Sendable {
    /// An e-mail address; finds the user who has verified it.
    public var emailAddress: String?
    /// A phone number; this service finds no one by it.
    public var phoneNumber: String?
    /// The record name of a user; counts before the e-mail address.
    public var userRecordName: String?
    /// An extension: everyone who has it may accept the invitation, once.
    public var oneTimeToken: String?

    /// Makes a lookup; give one value.
    public init(
        emailAddress: String? = nil, phoneNumber: String? = nil, userRecordName: String? = nil,
        oneTimeToken: String? = nil
    ) {
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
        self.userRecordName = userRecordName
        self.oneTimeToken = oneTimeToken
    }

    /// Whether no member is set.
    public var isEmpty: Bool { self == UserLookupInfo() }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.optional("emailAddress", &emailAddress)
        try coder.optional("phoneNumber", &phoneNumber)
        try coder.optional("userRecordName", &userRecordName)
        try coder.optional("oneTimeToken", &oneTimeToken)
    }
}
