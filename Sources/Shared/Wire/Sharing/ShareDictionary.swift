/// The members of a share record besides its fields.
public struct ShareDictionary: Hashable, Sendable {
    /// The root record of the shared hierarchy, in the request that creates the share; nil for the share of a whole
    /// zone.
    public var root: Root?
    /// What everyone with the link may do.
    public var publicPermission: SharePermission?
    /// Nil in a request leaves the participants as they are.
    public var participants: [ParticipantDictionary]?
    /// Only in answers.
    public var owner: ParticipantDictionary?
    /// The caller as a participant; only in answers.
    public var currentUserParticipant: ParticipantDictionary?
    /// An extension: whether people who are not invited may ask for access; nil in a request leaves it as it is.
    public var allowsAccessRequests: Bool?
    /// An extension: the people who ask for access. A request lists those to keep; nil keeps all.
    public var accessRequesters: [UserIdentityDictionary]?
    /// An extension: the people who may not ask. Nil in a request leaves them as they are.
    public var blockedIdentities: [UserIdentityDictionary]?

    /// The root record, under the key `forRecord`: of a new share, and, as an extension, in answers to its owner and
    /// administrators.
    public struct Root: WireObject, Hashable, Sendable {
        /// The name of the root record, in the share's own zone.
        public var recordName = ""
        /// The change tag that the stored root must have; nil for any. Ignored if the same request saves the root.
        public var recordChangeTag: String?

        /// Names the root record of a new share.
        public init(recordName: String, recordChangeTag: String? = nil) {
            self.recordName = recordName
            self.recordChangeTag = recordChangeTag
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("recordName", &recordName)
            try coder.optional("recordChangeTag", &recordChangeTag)
        }
    }

    /// The record type of shares.
    public static let recordType = "cloudkit.share"
    /// The name of the share of a whole zone.
    public static let zoneShareName = "cloudkit.zoneshare"

    /// Makes the members of a share; those that are left out are absent.
    public init(
        root: Root? = nil, publicPermission: SharePermission? = nil,
        participants: [ParticipantDictionary]? = nil, owner: ParticipantDictionary? = nil,
        currentUserParticipant: ParticipantDictionary? = nil, allowsAccessRequests: Bool? = nil,
        accessRequesters: [UserIdentityDictionary]? = nil,
        blockedIdentities: [UserIdentityDictionary]? = nil
    ) {
        self.root = root
        self.publicPermission = publicPermission
        self.participants = participants
        self.owner = owner
        self.currentUserParticipant = currentUserParticipant
        self.allowsAccessRequests = allowsAccessRequests
        self.accessRequesters = accessRequesters
        self.blockedIdentities = blockedIdentities
    }
}

extension ShareDictionary {
    /// Reads a member of a record that only shares have.
    ///
    /// - Returns: Whether it was one.
    mutating func read(_ key: JSONText, _ member: JSONNode) throws(WireError) -> Bool {
        switch key {
        case "forRecord": root = try Root(wire: member)
        case "publicPermission": publicPermission = try SharePermission(wire: member)
        case "participants": participants = try [ParticipantDictionary](wire: member)
        case "owner": owner = try ParticipantDictionary(wire: member)
        case "currentUserParticipant":
            currentUserParticipant = try ParticipantDictionary(wire: member)
        case "allowsAccessRequests": allowsAccessRequests = try Bool(wire: member)
        case "accessRequesters": accessRequesters = try [UserIdentityDictionary](wire: member)
        case "blockedIdentities": blockedIdentities = try [UserIdentityDictionary](wire: member)
        default: return false
        }
        return true
    }

    /// Writes the members into the record's open object.
    func writeMembers(to writer: inout JSONWriter) {
        writer.optional("forRecord", root)
        writer.optional("publicPermission", publicPermission)
        writer.optional("participants", participants)
        writer.optional("owner", owner)
        writer.optional("currentUserParticipant", currentUserParticipant)
        writer.optional("allowsAccessRequests", allowsAccessRequests)
        writer.optional("accessRequesters", accessRequesters)
        writer.optional("blockedIdentities", blockedIdentities)
    }
}
