import StratusClient
import StratusSync

extension CKSyncEngine {
    /// An event of the engine. Events arrive one at a time, in this order:
    ///
    /// * fetching: `willFetchChanges`, `fetchedDatabaseChanges` for each page, then for each zone
    ///   `willFetchRecordZoneChanges`, `fetchedRecordZoneChanges` for each page,
    ///   `didFetchRecordZoneChanges`; at last `didFetchChanges`.
    /// * sending: `willSendChanges`, `sentDatabaseChanges` for each request, then
    ///   `sentRecordZoneChanges` for each batch; at last `didSendChanges`.
    ///
    /// Every "will" has one "did". A `stateUpdate` follows each event that changed the state.
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
    /// The state changed: store it, together with the data of the events before it.
    public struct StateUpdate: Sendable {
        public let stateSerialization: CKSyncEngine.State.Serialization
    }

    /// The account was signed in, signed out or replaced. The state of the former user was already
    /// removed.
    public struct AccountChange: Sendable {
        public enum ChangeType: Equatable, Sendable {
            case signIn(currentUser: CKRecord.ID)
            case signOut(previousUser: CKRecord.ID)
            case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
        }

        public let changeType: ChangeType
    }

    /// Zones that were changed, created or deleted.
    public struct FetchedDatabaseChanges: Sendable {
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        /// The deleted zones with the reason: after `encryptedDataReset` an app creates the zone
        /// again and saves its records again; after `purged` it removes them.
        public let deletions: [CKDatabase.DatabaseChange.Deletion]
    }

    /// Records that were changed or deleted, in the order of the changes.
    public struct FetchedRecordZoneChanges: Sendable {
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]
    }

    /// The outcome of sending zones.
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

    /// The outcome of sending a batch of records.
    public struct SentRecordZoneChanges: Sendable {
        /// The saved records with the service's current system fields: store these.
        public let savedRecords: [CKRecord]
        /// The failed saves. They include transient failures, after which the engine sends the
        /// records again by itself; the others are no longer pending: resolve them and add them
        /// again.
        public let failedRecordSaves: [FailedRecordSave]
        public let deletedRecordIDs: [CKRecord.ID]
        public let failedRecordDeletes: [CKRecord.ID: CKError]

        public struct FailedRecordSave: Sendable {
            public let record: CKRecord
            public let error: CKError
        }
    }

    public struct WillFetchChanges: Sendable {
        public let context: CKSyncEngine.FetchChangesContext
    }

    public struct WillFetchRecordZoneChanges: Sendable {
        public let zoneID: CKRecordZone.ID
    }

    /// The fetch of a zone ended, completely or with an error.
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
