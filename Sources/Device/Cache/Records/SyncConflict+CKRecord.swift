import StratusClient
import StratusRecords
import StratusSync

extension SyncConflict {
    /// The record as both sides last agreed on it; nil when both created it.
    public func ancestorRecord() throws -> CKRecord? { try ancestor?.record() }
    /// The record as this device has it.
    public func clientRecord() throws -> CKRecord { try client.record() }
    /// The record as the service has it: merge into this one.
    public func serverRecord() throws -> CKRecord { try server.record() }
}

extension ConflictResolution {
    /// Sends the fields of this record with the service's change tag.
    public static func save(_ record: CKRecord) throws -> ConflictResolution {
        .save(fields: try RecordSnapshot(record).fields)
    }
}
