import StratusRecords

/// `users/discover`: the identities of people whom the caller knows by e-mail address or record name.
///
/// Without a body it asks for the caller's contacts, of which this service knows none.
public enum UsersDiscover: Endpoint {
    public static let path = "users/discover"
    public static let isReadWithoutBody = true

    public struct Request: WireValue {
        public var lookupInfos: [UserLookupInfo]

        public init(lookupInfos: [UserLookupInfo]) {
            self.lookupInfos = lookupInfos
        }
    }

    /// One identity per lookup in the request's order; of people who cannot be found, it has nothing
    /// but what was asked.
    public struct Answer: WireValue {
        public var users: [UserIdentityDictionary]

        public init(users: [UserIdentityDictionary]) {
            self.users = users
        }
    }
}

/// By what somebody is looked up: one of the first three; or, in an invitation, one of all.
public struct UserLookupInfo: WireValue {
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
}

extension UserLookupInfo {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            emailAddress: try node.optional("emailAddress"),
            phoneNumber: try node.optional("phoneNumber"),
            userRecordName: try node.optional("userRecordName"),
            oneTimeToken: try node.optional("oneTimeToken"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.optional("emailAddress", emailAddress)
            writer.optional("phoneNumber", phoneNumber)
            writer.optional("userRecordName", userRecordName)
            writer.optional("oneTimeToken", oneTimeToken)
        }
    }
}

extension UsersDiscover.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(lookupInfos: try node.optional("lookupInfos") ?? [])
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            // Nobody in particular: the contacts, which are asked for without a body.
            if !lookupInfos.isEmpty { writer.member("lookupInfos", lookupInfos) }
        }
    }
}

extension UsersDiscover.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(users: try node.required("users"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("users", users) }
    }
}
