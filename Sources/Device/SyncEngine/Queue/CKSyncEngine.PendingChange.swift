import StratusClient
import StratusRecords
import StratusSync

extension CKSyncEngine {
    /// A record to save or delete.
    public enum PendingRecordZoneChange: Hashable, Sendable {
        /// Save the record, which the delegate provides when the engine asks for a batch.
        case saveRecord(CKRecord.ID)
        /// Delete the record of this ID.
        case deleteRecord(CKRecord.ID)

        var recordID: CKRecord.ID {
            switch self {
            case .saveRecord(let recordID), .deleteRecord(let recordID): recordID
            }
        }

        var item: (id: RecordID, kind: PendingChange.Kind) {
            switch self {
            case .saveRecord(let recordID): (RecordID(recordID), .save)
            case .deleteRecord(let recordID): (RecordID(recordID), .delete)
            }
        }

        init(_ change: PendingChange) {
            let recordID = CKRecord.ID(change.id)
            self = change.kind == .save ? .saveRecord(recordID) : .deleteRecord(recordID)
        }
    }

    /// A zone to create or delete.
    public enum PendingDatabaseChange: Hashable, Sendable {
        /// Create the zone; the default zone, which always exists, is ignored.
        case saveZone(CKRecordZone)
        /// Delete the zone with all its records; the default zone is ignored.
        case deleteZone(CKRecordZone.ID)

        var item: (zone: ZoneID, change: EngineLedger.ZoneChange) {
            switch self {
            case .saveZone(let zone): (ZoneID(zone.zoneID), .save)
            case .deleteZone(let zoneID): (ZoneID(zoneID), .delete)
            }
        }
    }
}
