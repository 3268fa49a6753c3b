import StratusRecords

/// The share that the short GUID of a link leads to, as one caller sees it.
public struct ShareMetadataDictionary: WireObject, Hashable, Sendable {
    /// The short GUID with its options, as it was sent.
    public var shortGUID = ShortGUIDDictionary()
    /// The identifier of the container that the share is in.
    public var containerIdentifier: String?
    /// The environment of the container.
    public var environment: ContainerEnvironment?
    /// The caller's database that has the zone: private for the owner, otherwise shared.
    public var databaseScope: DatabaseScope?
    /// The zone of the share, with its owner; nil if only ``potentialMatches`` are shown.
    public var zoneID: ZoneIDDictionary?
    /// Nil when the whole zone is shared.
    public var rootRecordName: String?
    /// Only if the request asks for it and the caller may read it.
    public var rootRecord: RecordDictionary?
    /// The share as the caller sees it; nil if only ``potentialMatches`` are shown.
    public var share: RecordDictionary?
    /// The owner, whose address only the owner sees; nil if only ``potentialMatches`` are shown.
    public var ownerIdentity: UserIdentityDictionary?
    /// The caller's own part.
    public var participantRole: ParticipantRole?
    /// Whether the caller has joined; ``ParticipantStatus/invited`` also for a public share that the caller may join.
    public var participantStatus: ParticipantStatus?
    /// What the caller may do with the shared records, now or after joining.
    public var participantPermission: SharePermission?
    /// The open invitations, if none of them is known to be for the caller.
    public var potentialMatches: [PotentialMatch]?
    /// The address of a page that explains the link.
    public var webpageURL: String?

    /// An invitation that may be for the caller.
    public struct PotentialMatch: Hashable, Sendable {
        /// Identifies the invitation within the share.
        public var participantID: String
        /// The address of the invitation, masked so that only the person recognises it; nil if it has none.
        public var emailAddress: String?
        /// The phone number of the invitation, masked except for its last two characters; nil if it has none.
        public var phoneNumber: String?

        /// Makes an invitation that may be for the caller.
        public init(
            participantID: String, emailAddress: String? = nil, phoneNumber: String? = nil
        ) {
            self.participantID = participantID
            self.emailAddress = emailAddress
            self.phoneNumber = phoneNumber
        }
    }

    /// Makes a result that has only the short GUID.
    public init(shortGUID: ShortGUIDDictionary) {
        self.shortGUID = shortGUID
    }

    public init() {}

    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required("shortGUID", &shortGUID)
        try coder.optional("containerIdentifier", &containerIdentifier)
        try coder.optional("environment", &environment)
        var scope = databaseScope?.pathSegment.uppercased()
        try coder.optional("databaseScope", &scope)
        databaseScope = scope.flatMap { DatabaseScope(pathSegment: $0.lowercased()) }
        try coder.optional("zoneID", &zoneID)
        try coder.optional("rootRecordName", &rootRecordName)
        try coder.optional("rootRecord", &rootRecord)
        try coder.optional("share", &share)
        try coder.optional("ownerIdentity", &ownerIdentity)
        try coder.optional("participantType", &participantRole)
        try coder.optional("participantStatus", &participantStatus)
        try coder.optional("participantPermission", &participantPermission)
        try coder.optional("potentialMatchList", &potentialMatches)
        try coder.optional("webpageURL", &webpageURL)
    }
}

extension ShareMetadataDictionary.PotentialMatch: WireReadable, WireWritable {
    public init(wire node: JSONNode) throws(WireError) {
        let contact = node["contactInformation"]
        self.init(
            participantID: try node.required("participantId"),
            emailAddress: try contact?.optional("emailAddress"),
            phoneNumber: try contact?.optional("phoneNumber"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("participantId", participantID)
            writer.member(
                "contactInformation",
                UserLookupInfo(emailAddress: emailAddress, phoneNumber: phoneNumber))
        }
    }
}
