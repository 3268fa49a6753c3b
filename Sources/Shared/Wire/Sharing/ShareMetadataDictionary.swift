import StratusRecords

/// What is behind the short GUID of a share's link, as one caller sees it.
public struct ShareMetadataDictionary: WireValue {
    public var shortGUID: ShortGUIDDictionary
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
}

extension ShareMetadataDictionary {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(shortGUID: try node.required("shortGUID"))
        containerIdentifier = try node.optional("containerIdentifier")
        environment = try node.optionalWord("environment")
        if let scope: String = try node.optional("databaseScope") {
            databaseScope = DatabaseScope(pathSegment: scope.lowercased())
        }
        zoneID = try node.optional("zoneID")
        rootRecordName = try node.optional("rootRecordName")
        rootRecord = try node.optional("rootRecord")
        share = try node.optional("share")
        ownerIdentity = try node.optional("ownerIdentity")
        participantRole = try node.optional("participantType")
        participantStatus = try node.optional("participantStatus")
        participantPermission = try node.optional("participantPermission")
        potentialMatches = try node.optional("potentialMatchList")
        webpageURL = try node.optional("webpageURL")
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("shortGUID", shortGUID)
            writer.optional("containerIdentifier", containerIdentifier)
            writer.optional("environment", environment?.rawValue)
            writer.optional("databaseScope", databaseScope?.pathSegment.uppercased())
            writer.optional("zoneID", zoneID)
            writer.optional("rootRecordName", rootRecordName)
            writer.optional("rootRecord", rootRecord)
            writer.optional("share", share)
            writer.optional("ownerIdentity", ownerIdentity)
            writer.optional("participantType", participantRole)
            writer.optional("participantStatus", participantStatus)
            writer.optional("participantPermission", participantPermission)
            if let potentialMatches { writer.member("potentialMatchList", potentialMatches) }
            writer.optional("webpageURL", webpageURL)
        }
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
