import StratusRecords

/// The share that the short GUID of a link leads to, as one caller sees it.
public struct ShareMetadataDictionary: WireObject, Hashable, Sendable {
    public var shortGUID = ShortGUIDDictionary()
    public var containerIdentifier: String?
    public var environment: ContainerEnvironment?
    /// The caller's database that has the zone: private for the owner, otherwise shared.
    public var databaseScope: DatabaseScope?
    public var zoneID: ZoneIDDictionary?
    /// Nil when the whole zone is shared.
    public var rootRecordName: String?
    /// Only if the request asks for it and the caller may read it.
    public var rootRecord: RecordDictionary?
    public var share: RecordDictionary?
    public var ownerIdentity: UserIdentityDictionary?
    /// The caller's own part.
    public var participantRole: ParticipantRole?
    public var participantStatus: ParticipantStatus?
    public var participantPermission: SharePermission?
    /// The open invitations, if none of them is known to be for the caller.
    public var potentialMatches: [PotentialMatch]?
    /// The address of a page that explains the link.
    public var webpageURL: String?

    /// An invitation that may be for the caller.
    public struct PotentialMatch: Hashable, Sendable {
        public var participantID: String
        public var emailAddress: String?
        public var phoneNumber: String?

        public init(
            participantID: String, emailAddress: String? = nil, phoneNumber: String? = nil
        ) {
            self.participantID = participantID
            self.emailAddress = emailAddress
            self.phoneNumber = phoneNumber
        }
    }

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
            writer.key("contactInformation")
            writer.object { writer in
                writer.optional("emailAddress", emailAddress)
                writer.optional("phoneNumber", phoneNumber)
            }
        }
    }
}
