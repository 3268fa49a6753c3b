import StratusRecords

/// `users/discover`: the identities of people whom the caller knows by e-mail address or record name.
///
/// Without a body it asks for the caller's contacts, of which this service knows none.
public enum UsersDiscover: Endpoint {
    public static let path = "users/discover"
    public static let isReadWithoutBody = true

    public struct Request: WireObject, Hashable, Sendable {
        public var lookupInfos: [UserLookupInfo] = []

        public init(lookupInfos: [UserLookupInfo]) {
            self.lookupInfos = lookupInfos
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.defaulted("lookupInfos", &lookupInfos)
        }
    }

    /// One identity per lookup in the request's order; of people who cannot be found, it has nothing
    /// but what was asked.
    public typealias Answer = ListBody<UserIdentityDictionary>
}

/// By what somebody is looked up: one of the first three; or, in an invitation, one of all.
public struct UserLookupInfo: WireObject, Hashable, Sendable {
    public var emailAddress: String?
    public var phoneNumber: String?
    public var userRecordName: String?
    /// An extension: whoever has it may take the invitation, once.
    public var oneTimeToken: String?

    public init(
        emailAddress: String? = nil, phoneNumber: String? = nil, userRecordName: String? = nil,
        oneTimeToken: String? = nil
    ) {
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
        self.userRecordName = userRecordName
        self.oneTimeToken = oneTimeToken
    }

    /// Whether it says nothing of anybody.
    public var isEmpty: Bool { self == UserLookupInfo() }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.optional("emailAddress", &emailAddress)
        try coder.optional("phoneNumber", &phoneNumber)
        try coder.optional("userRecordName", &userRecordName)
        try coder.optional("oneTimeToken", &oneTimeToken)
    }
}
