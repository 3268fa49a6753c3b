import StratusClient
import StratusRecords
import StratusSync

extension SyncConflict {
    /// The common ancestor of both versions; nil when both sides created the record.
    public func ancestorRecord() throws -> CKRecord? { try ancestor?.record() }
    /// This device's version of the record.
    public func clientRecord() throws -> CKRecord { try client.record() }
    /// The service's version of the record: merge into this one.
    public func serverRecord() throws -> CKRecord { try server.record() }
}

extension ConflictResolution {
    /// Sends the fields of this record with the service's change tag.
    public static func save(_ record: CKRecord) throws -> ConflictResolution {
        .save(fields: try RecordSnapshot(record).fields)
    }
}
