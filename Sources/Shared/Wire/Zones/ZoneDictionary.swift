import StratusRecords

/// A zone's identity on the wire; absent members have the service's defaults.
public struct ZoneIDDictionary: WireValue {
    /// The zone's name, `_defaultZone` if the key is absent. That of a custom zone has 1 to 255 printable ASCII
    /// characters and no leading underscore.
    public var zoneName: String
    /// Nil for the caller.
    public var ownerRecordName: String?
    /// `DEFAULT_ZONE` or `REGULAR_CUSTOM_ZONE`; written in answers, ignored in requests.
    public var zoneType: String?

    /// Names a zone; by default the caller's default zone.
    public init(
        zoneName: String = ZoneID.defaultZoneName, ownerRecordName: String? = nil,
        zoneType: String? = nil
    ) {
        self.zoneName = zoneName
        self.ownerRecordName = ownerRecordName
        self.zoneType = zoneType
    }
}

/// A zone as the protocol writes it.
public struct ZoneDictionary: Hashable, Sendable {
    /// The zone's name and owner.
    public var zoneID = ZoneIDDictionary()
    /// The current change token of the zone; nil for a zone without a change feed, and in lists of changes.
    public var syncToken: String?
    /// Whether operations can be atomic: true for custom zones. Nil if the answer does not have the key.
    public var isAtomic: Bool?
    /// Whether the zone was deleted or is no longer shared with the caller; nil if the answer does not have the key.
    public var isDeleted: Bool?
    /// An extension, on deleted zones: `deleted`, `purged` or `encryptedDataReset`.
    public var deletionReason: String?
    /// An extension: the share of the whole zone, for callers who may see it.
    public var shareRecordName: String?
    /// An extension: set for zones that are encrypted as a whole.
    public var encryptionScope: ZoneEncryptionScope?
    /// An extension, in a database's changes: how often a zone with this name was created.
    public var generation: Int64?
    /// An extension, for a zone that the request created, deleted or left: the database's change token after it.
    public var databaseSyncToken: String?

    /// Makes a zone; what is left out is absent.
    public init(
        zoneID: ZoneIDDictionary, syncToken: String? = nil, isAtomic: Bool? = nil,
        isDeleted: Bool? = nil, deletionReason: String? = nil, shareRecordName: String? = nil,
        encryptionScope: ZoneEncryptionScope? = nil
    ) {
        self.zoneID = zoneID
        self.syncToken = syncToken
        self.isAtomic = isAtomic
        self.isDeleted = isDeleted
        self.deletionReason = deletionReason
        self.shareRecordName = shareRecordName
        self.encryptionScope = encryptionScope
    }

    public init() {}
}

/// One zone of an answer, or why it failed.
public typealias ZoneResult = Result<ZoneDictionary, ZoneFailure>

/// Why one zone of a request could not be served.
public struct ZoneFailure: Error, Hashable, Sendable {
    /// The zone as the request named it.
    public var zoneID = ZoneIDDictionary()
    /// What went wrong with this zone.
    public var error = ServiceError.unread

    /// Makes the failure of one zone.
    public init(zoneID: ZoneIDDictionary, error: ServiceError) {
        self.zoneID = zoneID
        self.error = error
    }

    public init() {}
}

extension ZoneIDDictionary {
    /// Reads a zone's identity, bare or wrapped as `{"zoneID": {…}}`.
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        if let wrapped: ZoneIDDictionary = try node.optional("zoneID") {
            self = wrapped
            return
        }
        self.init(
            zoneName: try node.optional("zoneName") ?? ZoneID.defaultZoneName,
            ownerRecordName: try node.optional("ownerRecordName"),
            zoneType: try node.optional("zoneType"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zoneName", zoneName)
            writer.optional("ownerRecordName", ownerRecordName)
            writer.optional("zoneType", zoneType)
        }
    }
}

extension ZoneDictionary: WireObject {
    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required("zoneID", &zoneID)
        try coder.optional("syncToken", &syncToken)
        try coder.optional("atomic", &isAtomic)
        try coder.optional("deleted", &isDeleted)
        try coder.optional("deletionReason", &deletionReason)
        try coder.recordName("share", &shareRecordName)
        try coder.optional("encryptionScope", &encryptionScope)
        try coder.optional("generation", &generation)
        try coder.optional("databaseSyncToken", &databaseSyncToken)
    }
}

extension ZoneFailure: WireObject {
    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required("zoneID", &zoneID)
        try coder.error(&error)
    }
}

extension ZoneIDDictionary: ListItem {
    public static var listKey: StaticString { "zones" }
}

extension ZoneDictionary: ListItem {
    public static var listKey: StaticString { "zones" }
}
