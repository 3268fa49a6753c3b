/// A participant of a share.
public struct ParticipantDictionary: WireObject, Hashable, Sendable {
    /// Given by the service; nil for a participant who is being added.
    public var participantID: String?
    public var userIdentity = UserIdentityDictionary(userRecordName: nil)
    public var role = ParticipantRole.user
    public var status = ParticipantStatus.invited
    public var permission = SharePermission.readOnly
    /// An extension: the person had asked for access. Only in answers.
    public var isApprovedRequester = false
    /// An extension: when the person was added to the list, in milliseconds since 1970. Only in answers.
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

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.optional("participantId", &participantID)
        try coder.defaulted("userIdentity", &userIdentity)
        try coder.defaulted("type", &role)
        try coder.defaulted("acceptanceStatus", &status)
        try coder.defaulted("permission", &permission)
        try coder.flag("isApprovedRequester", &isApprovedRequester)
        try coder.optional("dateAdded", &dateAddedMilliseconds)
    }
}

/// How a person became a participant. The raw values are the protocol's words.
public enum ParticipantRole: String, WireWord, Hashable, Sendable {
    case owner = "OWNER"
    case administrator = "ADMINISTRATOR"
    /// Invited by name.
    case user = "USER"
    /// Joined because the share is public.
    case publicUser = "PUBLIC_USER"
    case unknown = "UNKNOWN"
}

/// Whether a participant has joined. The raw values are the protocol's words.
public enum ParticipantStatus: String, WireWord, Hashable, Sendable {
    case invited = "INVITED"
    case accepted = "ACCEPTED"
    /// Left, or was removed.
    case removed = "REMOVED"
    case unknown = "UNKNOWN"
}

/// What a participant may do with a share's records. The raw values are the protocol's words.
public enum SharePermission: String, WireWord, Hashable, Sendable {
    case none = "NONE"
    case readOnly = "READ_ONLY"
    case readWrite = "READ_WRITE"
    case unknown = "UNKNOWN"
}

extension ParticipantRole {
    /// Reads the documented words and CloudKit JS's own.
    public init?(word: String) {
        self.init(rawValue: word == "PRIVATE_USER" ? "USER" : word)
    }
}

extension ParticipantStatus {
    /// Reads the documented words and CloudKit JS's own.
    public init?(word: String) {
        self.init(rawValue: word == "PENDING" ? "INVITED" : word)
    }
}
