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
    ///
    /// ```swift
    /// func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    ///     switch event {
    ///     case .stateUpdate(let update):
    ///         await store.keep(update.stateSerialization)
    ///     case .fetchedRecordZoneChanges(let changes):
    ///         for change in changes.modifications { await store.keep(change.record) }
    ///         for deletion in changes.deletions { await store.remove(deletion.recordID) }
    ///     case .sentRecordZoneChanges(let sent):
    ///         for record in sent.savedRecords { await store.keep(record) }
    ///     default: break
    ///     }
    /// }
    /// ```
    public enum Event: Sendable {
        /// The engine's state changed, and must be stored.
        case stateUpdate(StateUpdate)
        /// A user signed in or out, or was replaced by another one.
        case accountChange(AccountChange)
        /// A page of the database's changes: the zones that changed or were deleted.
        case fetchedDatabaseChanges(FetchedDatabaseChanges)
        /// A page of a zone's changes: the records that were saved or deleted.
        case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
        /// The outcome of one request to create and delete zones.
        case sentDatabaseChanges(SentDatabaseChanges)
        /// The outcome of one batch of records.
        case sentRecordZoneChanges(SentRecordZoneChanges)
        /// A fetch begins.
        case willFetchChanges(WillFetchChanges)
        /// The fetch of one zone begins.
        case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
        /// The fetch of one zone ended.
        case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
        /// A fetch ended, with or without an error.
        case didFetchChanges(DidFetchChanges)
        /// The engine begins to send zones and records.
        case willSendChanges(WillSendChanges)
        /// The engine stopped sending, because nothing was left or an error occurred.
        case didSendChanges(DidSendChanges)
    }
}

extension CKSyncEngine.Event {
    /// The state changed: store it, together with the data of the events before it.
    public struct StateUpdate: Sendable {
        /// The state as of this event, for the configuration of the next engine.
        public let stateSerialization: CKSyncEngine.State.Serialization
    }

    /// The account was signed in, signed out or replaced. The state of the former user was already
    /// removed.
    public struct AccountChange: Sendable {
        /// How the account changed. The IDs are those of the users' own records.
        public enum ChangeType: Equatable, Sendable {
            /// A user signed in while no user was signed in. Changes that were already pending stay pending.
            case signIn(currentUser: CKRecord.ID)
            /// The user signed out, and no user is signed in now.
            case signOut(previousUser: CKRecord.ID)
            /// Another user signed in, in place of the former one.
            case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
        }

        /// How the account changed, and who the users are.
        public let changeType: ChangeType
    }

    /// Zones that were changed, created or deleted.
    public struct FetchedDatabaseChanges: Sendable {
        /// The zones that are new or have changes; the engine fetches their records next.
        public let modifications: [CKDatabase.DatabaseChange.Modification]
        /// The deleted zones with the reason: after `encryptedDataReset` an app creates the zone
        /// again and saves its records again; after `purged` it removes them.
        public let deletions: [CKDatabase.DatabaseChange.Deletion]
        /// How often each changed zone was created, and each deleted one before its deletion, if the service says so.
        package var generations: [CKRecordZone.ID: Int64] = [:]
    }

    /// Records that were changed or deleted, in the order of the changes.
    public struct FetchedRecordZoneChanges: Sendable {
        /// The new and changed records, with all their fields.
        public let modifications: [CKDatabase.RecordZoneChange.Modification]
        /// The IDs of the deleted records, with their types as far as the service names them.
        public let deletions: [CKDatabase.RecordZoneChange.Deletion]
        /// Why records cannot be read; the error of ``DidFetchRecordZoneChanges`` names them too.
        package var unreadable: [CKRecord.ID: CKError] = [:]
    }

    /// The outcome of sending zones.
    public struct SentDatabaseChanges: Sendable {
        /// A zone that could not be created, and why.
        public struct FailedZoneSave: Sendable {
            /// The zone as the app added it to the state.
            public let zone: CKRecordZone
            /// The error of this zone, or of the whole request.
            public let error: CKError
        }

        /// The zones that were created, as the service returned them.
        public let savedZones: [CKRecordZone]
        /// The zones that were not created. After a transient failure they stay pending, and the engine tries again.
        public let failedZoneSaves: [FailedZoneSave]
        /// The zones that were deleted.
        public let deletedZoneIDs: [CKRecordZone.ID]
        /// The errors of the zones that were not deleted. After a transient failure they stay pending too.
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
        /// The records that were deleted; one that the service did not have counts too.
        public let deletedRecordIDs: [CKRecord.ID]
        /// The errors of the records that were not deleted; they are handled like failed saves.
        public let failedRecordDeletes: [CKRecord.ID: CKError]
        /// The change tags of the deletions, as far as the service had such records.
        package let tombstoneTags: [CKRecord.ID: String]

        /// A record that could not be saved, and why.
        public struct FailedRecordSave: Sendable {
            /// The record as it was in the delegate's batch.
            public let record: CKRecord
            /// The error of this record, or of the whole request; `serverRecordChanged` has the service's record.
            public let error: CKError
        }
    }

    /// The engine is about to fetch changes; a ``DidFetchChanges`` follows.
    public struct WillFetchChanges: Sendable {
        /// Why the engine fetches, and which zones.
        public let context: CKSyncEngine.FetchChangesContext
    }

    /// The engine is about to fetch a zone's changes; a ``DidFetchRecordZoneChanges`` follows.
    public struct WillFetchRecordZoneChanges: Sendable {
        /// The zone that is fetched now.
        public let zoneID: CKRecordZone.ID
    }

    /// The fetch of a zone ended: completely, with an error, or between two pages.
    public struct DidFetchRecordZoneChanges: Sendable {
        /// The zone that was fetched.
        public let zoneID: CKRecordZone.ID
        /// Why the fetch of the zone failed; nil also when it stopped between two pages and will continue later.
        /// `partialFailure` names records that this version of the app cannot read: all others were fetched. The engine
        /// reads them again when they change, and once after the next start.
        public let error: CKError?
    }

    /// The engine has stopped fetching: nothing is left, or an error or a cancellation ended it.
    public struct DidFetchChanges: Sendable {
        /// The context of the ``WillFetchChanges`` before it.
        public let context: CKSyncEngine.FetchChangesContext
    }

    /// The engine is about to send changes; a ``DidSendChanges`` follows.
    public struct WillSendChanges: Sendable {
        /// Why the engine sends, and which changes.
        public let context: CKSyncEngine.SendChangesContext
    }

    /// The engine has stopped sending: nothing is left, or an error or a cancellation ended it.
    public struct DidSendChanges: Sendable {
        /// The context of the ``WillSendChanges`` before it.
        public let context: CKSyncEngine.SendChangesContext
    }
}
