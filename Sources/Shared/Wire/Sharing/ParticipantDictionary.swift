/// A person's part in a share.
public struct ParticipantDictionary: WireValue {
    /// Given by the service; nil for a participant who is being added.
    public var participantID: String?
    public var userIdentity: UserIdentityDictionary
    public var role: ParticipantRole
    public var status: ParticipantStatus
    public var permission: SharePermission
    /// An extension: the person had asked for access. Only in answers.
    public var isApprovedRequester: Bool
    /// An extension: when the person came into the list, in milliseconds since 1970. Only in answers.
    public var dateAddedMilliseconds: Int64?

    public init(
        participantID: String? = nil, userIdentity: UserIdentityDictionary,
        role: ParticipantRole = .user, status: ParticipantStatus = .invited,
        permission: SharePermission, isApprovedRequester: Bool = false,
        dateAddedMilliseconds: Int64? = nil
    ) {
        self.participantID = participantID
        self.userIdentity = userIdentity
        self.role = role
        self.status = status
        self.permission = permission
        self.isApprovedRequester = isApprovedRequester
        self.dateAddedMilliseconds = dateAddedMilliseconds
    }
}

/// What somebody may do with a share. The raw values are the protocol's words.
public enum SharePermission: String, WireValue {
    case none = "NONE"
    case readOnly = "READ_ONLY"
    case readWrite = "READ_WRITE"
    case unknown = "UNKNOWN"
}

/// How somebody comes to be a participant. The raw values are the protocol's words.
public enum ParticipantRole: String, WireValue {
    case owner = "OWNER"
    case administrator = "ADMINISTRATOR"
    /// Invited by name.
    case user = "USER"
    /// Joined because the share is public.
    case publicUser = "PUBLIC_USER"
    case unknown = "UNKNOWN"
}

/// Whether a participant takes part. The raw values are the protocol's words.
public enum ParticipantStatus: String, WireValue {
    case invited = "INVITED"
    case accepted = "ACCEPTED"
    /// Left, or was removed.
    case removed = "REMOVED"
    case unknown = "UNKNOWN"
}

extension SharePermission {
    public init(wire node: JSONNode) throws(WireError) {
        guard let word = Self(rawValue: try String(wire: node)) else {
            throw WireError("The protocol does not know this word.")
        }
        self = word
    }

    public func write(to writer: inout JSONWriter) { writer.string(rawValue) }
}

extension ParticipantRole {
    /// Reads the documented words and CloudKit JS's own.
    public init(wire node: JSONNode) throws(WireError) {
        let text = try String(wire: node)
        guard let word = text == "PRIVATE_USER" ? .user : Self(rawValue: text) else {
            throw WireError("The protocol does not know this word.")
        }
        self = word
    }

    public func write(to writer: inout JSONWriter) { writer.string(rawValue) }
}

extension ParticipantStatus {
    /// Reads the documented words and CloudKit JS's own.
    public init(wire node: JSONNode) throws(WireError) {
        let text = try String(wire: node)
        guard let word = text == "PENDING" ? .invited : Self(rawValue: text) else {
            throw WireError("The protocol does not know this word.")
        }
        self = word
    }

    public func write(to writer: inout JSONWriter) { writer.string(rawValue) }
}

extension ParticipantDictionary {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            participantID: try node.optional("participantId"),
            userIdentity: try node.optional("userIdentity")
                ?? UserIdentityDictionary(userRecordName: nil),
            role: try node.optional("type") ?? .user,
            status: try node.optional("acceptanceStatus") ?? .invited,
            permission: try node.optional("permission") ?? .readOnly,
            isApprovedRequester: try node.optional("isApprovedRequester") ?? false,
            dateAddedMilliseconds: try node.optional("dateAdded"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.optional("participantId", participantID)
            writer.member("userIdentity", userIdentity)
            writer.member("type", role)
            writer.member("acceptanceStatus", status)
            writer.member("permission", permission)
            writer.flag("isApprovedRequester", isApprovedRequester)
            writer.optional("dateAdded", dateAddedMilliseconds)
        }
    }
}
