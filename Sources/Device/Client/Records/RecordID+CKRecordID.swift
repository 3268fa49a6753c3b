import StratusRecords

extension RecordID {
    public init(_ id: CKRecord.ID) {
        self.init(name: id.recordName, zoneID: ZoneID(id.zoneID))
    }
}

extension ZoneID {
    public init(_ id: CKRecordZone.ID) {
        self.init(name: id.zoneName, ownerName: id.ownerName)
    }
}

extension CKRecordID {
    public convenience init(_ id: RecordID) {
        self.init(known: id.name, zoneID: CKRecordZoneID(id.zoneID))
    }
}

extension CKRecordZoneID {
    public convenience init(_ id: ZoneID) {
        self.init(known: id.name, ownerName: id.ownerName)
    }
}
