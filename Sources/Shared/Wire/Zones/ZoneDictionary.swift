import StratusRecords

/// A zone's identity on the wire; what is absent takes the service's defaults.
public struct ZoneIDDictionary: WireValue {
    public var zoneName: String
    /// Nil is the caller.
    public var ownerRecordName: String?
    /// `DEFAULT_ZONE` or `REGULAR_CUSTOM_ZONE`; said in answers, ignored in requests.
    public var zoneType: String?

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
public struct ZoneDictionary: WireValue {
    public var zoneID: ZoneIDDictionary
    /// Where the zone's change feed stands; nil for a zone without one.
    public var syncToken: String?
    public var isAtomic: Bool?
    public var isDeleted: Bool?
    /// An extension, on deleted zones: `deleted`, `purged` or `encryptedDataReset`.
    public var deletionReason: String?
    /// An extension: the share of the whole zone, for who may see it.
    public var shareRecordName: String?
    /// An extension: said of zones that are encrypted as one.
    public var encryptionScope: ZoneEncryptionScope?

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
}

/// One zone of an answer, or why it is not there.
public enum ZoneResult: WireValue {
    case zone(ZoneDictionary)
    case failure(ZoneFailure)
}

/// Why one zone of a request could not be served.
public struct ZoneFailure: WireValue {
    public var zoneID: ZoneIDDictionary
    public var error: ServiceError

    public init(zoneID: ZoneIDDictionary, error: ServiceError) {
        self.zoneID = zoneID
        self.error = error
    }
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

extension ZoneDictionary {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(
            zoneID: try node.required("zoneID"),
            syncToken: try node.optional("syncToken"),
            isAtomic: try node.optional("atomic"),
            isDeleted: try node.optional("deleted"),
            deletionReason: try node.optional("deletionReason"),
            shareRecordName: try node["share"]?.optional("recordName"),
            encryptionScope: try node.optionalWord("encryptionScope"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zoneID", zoneID)
            writer.optional("syncToken", syncToken)
            writer.optional("atomic", isAtomic)
            writer.optional("deleted", isDeleted)
            writer.optional("deletionReason", deletionReason)
            if let shareRecordName {
                writer.key("share")
                writer.object { $0.member("recordName", shareRecordName) }
            }
            writer.optional("encryptionScope", encryptionScope?.rawValue)
        }
    }
}

extension ZoneResult {
    public init(wire node: JSONNode) throws(WireError) {
        self =
            ServiceError.isError(node)
            ? .failure(try ZoneFailure(wire: node)) : .zone(try ZoneDictionary(wire: node))
    }

    public func write(to writer: inout JSONWriter) {
        switch self {
        case .zone(let zone): zone.write(to: &writer)
        case .failure(let failure): failure.write(to: &writer)
        }
    }
}

extension ZoneFailure {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(
            zoneID: try node.required("zoneID"),
            error: try ServiceError(wire: node))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zoneID", zoneID)
            error.writeMembers(to: &writer)
        }
    }
}
