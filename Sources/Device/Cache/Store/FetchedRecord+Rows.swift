import StratusClient
import StratusRecords

extension FetchedRow {
    /// The record with its fields as values.
    ///
    /// - Throws: ``CacheError`` `damaged` if the bytes cannot be decoded.
    func snapshot(in zone: ZoneID) throws -> RecordSnapshot {
        RecordSnapshot(
            id: RecordID(name: name, zoneID: zone), type: type, system: system,
            parentRecordName: parentRecordName,
            fields: try fields.withUnsafeBytes { try StoredFields.decode($0) })
    }
}

extension FetchedRecord {
    func snapshot(in zone: ZoneID) throws -> RecordSnapshot {
        switch self {
        case .row(let row): try row.snapshot(in: zone)
        case .record(let record): record
        }
    }

    var name: String {
        switch self {
        case .row(let row): row.name
        case .record(let record): record.id.name
        }
    }

    var nameHash: Int64 {
        switch self {
        case .row(let row): row.nameHash
        case .record(let record): NameHash.of(record.id.name)
        }
    }

    var sizeEstimateBytes: Int {
        switch self {
        case .row(let row): row.fields.count + 512
        case .record(let record): record.sizeEstimateBytes + 512
        }
    }

    var modifiedMilliseconds: Int64? {
        switch self {
        case .row(let row): row.system.modifiedMilliseconds
        case .record(let record): record.system?.modifiedMilliseconds
        }
    }
}
