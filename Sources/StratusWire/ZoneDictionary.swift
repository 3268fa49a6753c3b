import StratusRecords

/// A zone's identity on the wire; what is absent takes the service's defaults.
public struct ZoneIDDictionary: Hashable, Sendable {
    public var zoneName: String
    /// Nil is the caller.
    public var ownerRecordName: String?
    /// `DEFAULT_ZONE` or `REGULAR_CUSTOM_ZONE`; said in answers, ignored in requests.
    public var zoneType: String?

    public init(zoneName: String, ownerRecordName: String? = nil, zoneType: String? = nil) {
        self.zoneName = zoneName
        self.ownerRecordName = ownerRecordName
        self.zoneType = zoneType
    }
}

/// A zone as the protocol writes it.
public struct ZoneDictionary: Hashable, Sendable {
    public var zoneID: ZoneIDDictionary
    /// Where the zone's change feed stands; nil for a zone without one.
    public var syncToken: String?
    public var isAtomic: Bool?
    public var isDeleted: Bool?
    /// An extension, on deleted zones: `deleted`, `purged` or `encryptedDataReset`.
    public var deletionReason: String?

    public init(
        zoneID: ZoneIDDictionary, syncToken: String? = nil, isAtomic: Bool? = nil,
        isDeleted: Bool? = nil, deletionReason: String? = nil
    ) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.isAtomic = isAtomic
        self.isDeleted = isDeleted
        self.deletionReason = deletionReason
    }
}

/// One zone of an answer, or why it is not there.
public enum ZoneResult: Hashable, Sendable {
    case zone(ZoneDictionary)
    case failure(ZoneFailure)
}

/// Why one zone of a request could not be served.
public struct ZoneFailure: Hashable, Sendable {
    public var zoneID: ZoneIDDictionary
    public var error: ServiceError
    public var uuid: String?

    public init(zoneID: ZoneIDDictionary, error: ServiceError, uuid: String? = nil) {
        self.zoneID = zoneID
        self.error = error
        self.uuid = uuid
    }
}
