import StratusRecords

/// What is behind the short GUID of a share's link, as one caller sees it.
public struct ShareMetadataDictionary: WireObject, Hashable, Sendable {
    public var shortGUID = ShortGUIDDictionary()
    public var containerIdentifier: String?
    public var environment: ContainerEnvironment?
    /// In which of the caller's databases the zone is: private for the owner, else shared.
    public var databaseScope: DatabaseScope?
    public var zoneID: ZoneIDDictionary?
    /// Nil when the whole zone is shared.
    public var rootRecordName: String?
    /// Where it was asked for and may be read.
    public var rootRecord: RecordDictionary?
    public var share: RecordDictionary?
    public var ownerIdentity: UserIdentityDictionary?
    /// The caller's own part.
    public var participantRole: ParticipantRole?
    public var participantStatus: ParticipantStatus?
    public var participantPermission: SharePermission?
    /// The open invitations, when the caller is none of them by what is known of the account.
    public var potentialMatches: [PotentialMatch]?
    /// A page that says what the link is.
    public var webpageURL: String?

    /// Somebody the caller may be.
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
