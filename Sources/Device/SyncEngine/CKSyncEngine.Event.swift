import StratusClient
import StratusSync

extension CKSyncEngine {
    /// What happened. One at a time, in this order:
    ///
    /// * fetching: `willFetchChanges`, `fetchedDatabaseChanges` for each page, then for each zone
    ///   `willFetchRecordZoneChanges`, `fetchedRecordZoneChanges` for each page,
    ///   `didFetchRecordZoneChanges`; at last `didFetchChanges`.
    /// * sending: `willSendChanges`, `sentDatabaseChanges` for each request, then
    ///   `sentRecordZoneChanges` for each batch; at last `didSendChanges`.
    ///
    /// Every "will" has one "did". `stateUpdate` comes after each of them that changed the state.
    public enum Event: Sendable {
        case stateUpdate(StateUpdate)
        case accountChange(AccountChange)
        case fetchedDatabaseChanges(FetchedDatabaseChanges)
        case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
        case sentDatabaseChanges(SentDatabaseChanges)
        case sentRecordZoneChanges(SentRecordZoneChanges)
        case willFetchChanges(WillFetchChanges)
        case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
        case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
        case didFetchChanges(DidFetchChanges)
        case willSendChanges(WillSendChanges)
        case didSendChanges(DidSendChanges)
    }
}

extension CKSyncEngine.Event {
    /// The state changed: keep it, together with the data that was told before.
    public struct StateUpdate: Sendable {
        public let stateSerialization: CKSyncEngine.State.Serialization
    }

    /// The account came, went, or became another's. The state of another user is gone already.
    public struct AccountChange: Sendable {
        public enum ChangeType: Equatable, Sendable {
            case signIn(currentUser: CKRecord.ID)
            case signOut(previousUser: CKRecord.ID)
            case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
        }

        public let changeType: ChangeType
    }

    /// Zones that somebody changed, made or deleted.
    public struct FetchedDatabaseChanges: Sendable {
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        /// With the reason: after `encryptedDataReset` an app makes the zone again and saves its
        /// records once more, after `purged` it forgets them.
        public let deletions: [CKDatabase.DatabaseChange.Deletion]
    }

    /// Records that somebody changed or deleted, in the order of the changes.
    public struct FetchedRecordZoneChanges: Sendable {
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]
    }

    /// What became of zones that were sent.
    public struct SentDatabaseChanges: Sendable {
        public struct FailedZoneSave: Sendable {
            public let zone: CKRecordZone
            public let error: CKError
        }

        public let savedZones: [CKRecordZone]
        public let failedZoneSaves: [FailedZoneSave]
        public let deletedZoneIDs: [CKRecordZone.ID]
        public let failedZoneDeletes: [CKRecordZone.ID: CKError]
    }

    /// What became of a batch of records.
    public struct SentRecordZoneChanges: Sendable {
        public struct FailedRecordSave: Sendable {
            public let record: CKRecord
            public let error: CKError
        }

        /// As the service has them now: keep their system fields.
        public let savedRecords: [CKRecord]
        /// Transient failures are among them, although the engine sends those records again by
        /// itself; the others are no longer pending: resolve them and add them again.
        public let failedRecordSaves: [FailedRecordSave]
        public let deletedRecordIDs: [CKRecord.ID]
        public let failedRecordDeletes: [CKRecord.ID: CKError]
    }

    public struct WillFetchChanges: Sendable {
        public let context: CKSyncEngine.FetchChangesContext
    }

    public struct WillFetchRecordZoneChanges: Sendable {
        public let zoneID: CKRecordZone.ID
    }

    /// A zone was fetched to its end, or as far as it went.
    public struct DidFetchRecordZoneChanges: Sendable {
        public let zoneID: CKRecordZone.ID
        public let error: CKError?
    }

    public struct DidFetchChanges: Sendable {
        public let context: CKSyncEngine.FetchChangesContext
    }

    public struct WillSendChanges: Sendable {
        public let context: CKSyncEngine.SendChangesContext
    }

    public struct DidSendChanges: Sendable {
        public let context: CKSyncEngine.SendChangesContext
    }
}
