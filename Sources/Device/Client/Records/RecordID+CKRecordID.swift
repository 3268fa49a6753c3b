import StratusRecords
import StratusWire

extension RecordID {
    /// Converts a record ID of the framework to the plain value that the layers below use.
    public init(_ id: CKRecord.ID) {
        self.init(name: id.recordName, zoneID: ZoneID(id.zoneID))
    }
}

extension ZoneID {
    /// Converts a zone ID of the framework to the plain value that the layers below use.
    public init(_ id: CKRecordZone.ID) {
        self.init(name: id.zoneName, ownerName: id.ownerName)
    }
}

extension CKRecordID {
    /// Converts a plain value to a record ID of the framework, without checking its names.
    public convenience init(_ id: RecordID) {
        self.init(known: id.name, zoneID: CKRecordZoneID(id.zoneID))
    }
}

extension CKRecordZoneID {
    /// Converts a plain value to a zone ID of the framework, without checking its names.
    public convenience init(_ id: ZoneID) {
        self.init(known: id.name, ownerName: id.ownerName)
    }
}

extension CKRecordZoneID {
    /// The zone as a request names it: without the owner if that is the caller.
    var dictionary: ZoneIDDictionary {
        ZoneIDDictionary(
            zoneName: zoneName,
            ownerRecordName: ownerName == CKCurrentUserDefaultName ? nil : ownerName)
    }
}

extension CKReference {
    /// The reference in the protocol's form.
    var wireReference: Reference {
        Reference(
            recordName: recordID.recordName,
            zoneID: ZoneID(name: recordID.zoneID.zoneName, ownerName: recordID.zoneID.ownerName),
            action: action == .deleteSelf ? .deleteSelf : .none)
    }
}
