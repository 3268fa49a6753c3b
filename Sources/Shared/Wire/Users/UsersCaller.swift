import StratusRecords

/// `users/caller`: returns the identity of the caller.
public enum UsersCaller: Endpoint {
    public static let path = "users/caller"
    public static let isReadWithoutBody = true

    public typealias Request = EmptyBody

    /// The caller's identity, bare, as CloudKit JS reads it. The documented `users` array is
    /// written beside it.
    public struct Answer: WireValue {
        /// The caller; name and e-mail address only if other users can find the caller in the container.
        public var identity: UserIdentityDictionary

        /// Makes the answer with the caller's identity.
        public init(identity: UserIdentityDictionary) {
            self.identity = identity
        }
    }
}

/// A person as the protocol describes one.
public struct UserIdentityDictionary: WireValue {
    /// The user's record name; nil for a person who was not found, or was invited by an address and has not joined.
    public var userRecordName: String?
    /// The given name, under `nameComponents`; nil if there is none or the caller may not see it.
    public var givenName: String?
    /// The family name, under `nameComponents`; nil if there is none or the caller may not see it.
    public var familyName: String?
    /// How the person was or can be looked up.
    public var lookupInfo: UserLookupInfo?

    /// Makes an identity; ``lookupInfo`` is nil if all of its three values are.
    public init(
        userRecordName: String?, givenName: String? = nil, familyName: String? = nil,
        emailAddress: String? = nil, phoneNumber: String? = nil,
        lookupUserRecordName: String? = nil
    ) {
        self.userRecordName = userRecordName
        self.givenName = givenName
        self.familyName = familyName
        let info = UserLookupInfo(
            emailAddress: emailAddress, phoneNumber: phoneNumber,
            userRecordName: lookupUserRecordName)
        lookupInfo = info.isEmpty ? nil : info
    }

    /// The e-mail address by which the person was or can be found; a verified one, except in lookups and invitations.
    public var emailAddress: String? { lookupInfo?.emailAddress }
    /// The phone number by which the person was looked up or invited.
    public var phoneNumber: String? { lookupInfo?.phoneNumber }
    /// The user record name by which the person was looked up or invited.
    public var lookupUserRecordName: String? { lookupInfo?.userRecordName }
}

extension UsersCaller.Answer {
    /// Reads the identity, bare or, as documented, the first of `users`.
    public init(wire node: JSONNode) throws(WireError) {
        if node["userRecordName"] == nil,
            let documented: [UserIdentityDictionary] = try node.optional("users"),
            let first = documented.first
        {
            self.init(identity: first)
        } else {
            self.init(identity: try UserIdentityDictionary(wire: node))
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            identity.writeMembers(to: &writer)
            writer.member("users", [identity])
        }
    }
}

extension UserIdentityDictionary {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        let names = node["nameComponents"]
        self.init(
            userRecordName: try node.optional("userRecordName"),
            givenName: try names?.optional("givenName"),
            familyName: try names?.optional("familyName"))
        lookupInfo = try node.optional("lookupInfo")
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    fileprivate func writeMembers(to writer: inout JSONWriter) {
        writer.optional("userRecordName", userRecordName)
        if givenName != nil || familyName != nil {
            writer.key("nameComponents")
            writer.object { writer in
                writer.optional("givenName", givenName)
                writer.optional("familyName", familyName)
            }
        }
        writer.optional("lookupInfo", lookupInfo)
    }
}

extension UserIdentityDictionary: ListItem {
    public static var listKey: StaticString { "users" }
}
