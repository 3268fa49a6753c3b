/// A participant of a share.
public struct ParticipantDictionary: WireObject, Hashable, Sendable {
    /// Given by the service; nil for a participant who is being added.
    public var participantID: String?
    /// The person; a new participant is named by a user record name or by ``UserIdentityDictionary/lookupInfo``.
    public var userIdentity = UserIdentityDictionary(userRecordName: nil)
    /// How the person takes part; ``ParticipantRole/user`` if the key is absent.
    public var role = ParticipantRole.user
    /// Whether the person has joined; ``ParticipantStatus/invited`` without the key, and for new participants.
    public var status = ParticipantStatus.invited
    /// What the person may do; ``SharePermission/readOnly`` if the key is absent.
    public var permission = SharePermission.readOnly
    /// An extension: the person had asked for access. Only in answers.
    public var isApprovedRequester = false
    /// An extension: when the person was added to the list, in milliseconds since 1970. Only in answers.
    public var dateAddedMilliseconds: Int64?

    /// Makes a participant; by default one to invite.
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
    /// Owns the zone of the share, and may always write.
    case owner = "OWNER"
    /// Appointed by the owner; may add and remove users, and may always write.
    case administrator = "ADMINISTRATOR"
    /// Invited by name.
    case user = "USER"
    /// Joined because the share is public.
    case publicUser = "PUBLIC_USER"
    /// Not known; in a request it changes nothing.
    case unknown = "UNKNOWN"
}

/// Whether a participant has joined. The raw values are the protocol's words.
public enum ParticipantStatus: String, WireWord, Hashable, Sendable {
    /// Is invited and has not joined.
    case invited = "INVITED"
    /// Has joined.
    case accepted = "ACCEPTED"
    /// Left, or was removed.
    case removed = "REMOVED"
    /// Not known; in a request it changes nothing.
    case unknown = "UNKNOWN"
}

/// What a participant may do with a share's records. The raw values are the protocol's words.
public enum SharePermission: String, WireWord, Hashable, Sendable {
    /// No access. A participant with it is removed; as the public permission it makes the share private.
    case none = "NONE"
    /// The shared records can be read.
    case readOnly = "READ_ONLY"
    /// The shared records can be read and saved, and others added to them.
    case readWrite = "READ_WRITE"
    /// Not known; in a request it changes nothing.
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
