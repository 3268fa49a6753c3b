import StratusClient
import StratusRecords
import StratusSync

/// Something that happened while syncing and that an app may want to show; nothing is lost silently.
///
/// An event in which something was lost, overruled or set aside is also stored as a ``CacheReport``
/// until the app acknowledges it.
public enum CacheEvent: Sendable {
    /// A zone was deleted elsewhere. Under the policy `remove` its records are removed here, with
    /// the pending changes of the named records. Under the policy `recreate` this is reported only if
    /// the person removed the zone, and nothing is removed here.
    case zoneDeleted(CKRecordZone.ID, reason: ZoneDeletionReason, lostChanges: [CKRecord.ID])
    /// The service refused to create or delete this zone. A zone that was not created keeps its
    /// records and their changes here, which need attention; one that was not deleted is fetched
    /// again.
    case zoneSetAside(CKRecordZone.ID, SyncFailure)
    /// The service could not tell what changed since this device's last fetch, and the full fetch did not bring these
    /// records: they are removed here too. If the service names its last intact version, another client deleted them;
    /// otherwise it may have lost them, and these may be the last copies. Save them to create them again.
    case recordsMissing([CKRecord])
    /// The service lost changes of this zone that this device had received, as after a restore from a copy. Records
    /// that are missing there, or older than here, are sent again; a conflict with what was saved since is decided like
    /// any other. Records that were deleted and exist again are deleted again. If no record is named, the zone itself
    /// was deleted, exists again, and is deleted again.
    case changesLost(CKRecordZone.ID, sentAgain: [CKRecord.ID], deletedAgain: [CKRecord.ID])
    /// The service lost these shares of the user, or later changes of them, as after a restore from a copy, or because
    /// their zone was deleted and is created again. They are as they were here, with their participants, some of whom no
    /// longer see the records. To share with them again, call ``CloudCache/shareAgain(_:)``.
    case sharesLost([CKShare])
    /// Two devices changed a record, and local edits of these fields were overruled: the record as
    /// it was here, the service's, and the keys in order. Edits of other fields were kept.
    case editOverruled(client: CKRecord, server: CKRecord, keys: [CKRecord.FieldKey])
    /// Two devices changed a record, and this device's later edits overruled those of another
    /// device or person in these fields: the record as it was here, the service's, and the keys in
    /// order. Only the device that resolved the conflict gets this event.
    case remoteEditOverruled(client: CKRecord, server: CKRecord, keys: [CKRecord.FieldKey])
    /// The cache's file was damaged and replaced by a new one, into which everything is fetched
    /// again from the service. The damaged file is kept at this path until the app deletes it. The
    /// event has the unsent changes that could be read: records with their edits as unsaved
    /// changes, and deletions; to restore them, call ``CloudCache/restore(_:)``. Of the unreadable
    /// ones only the IDs are known.
    case fileDamaged(
        keptAside: String, saves: [CKRecord], deletions: [CKRecord.ID], unreadable: [CKRecord.ID])
    /// A newer version of the app wrote records of this type: update the app. Whether their zone waits for
    /// that is the app's policy; see ``RecordVersions``.
    case newerRecords(CKRecordZone.ID, recordType: CKRecord.RecordType, isHalted: Bool)
    /// This version of the app cannot read the fields of a record, because a newer one wrote it or a value is damaged. What
    /// is here of the record stays, and all others are synced. It is read again when it changes, and by the next process:
    /// update the app, or save the record again with another device.
    case recordUnreadable(CKRecord.ID, SyncFailure)
    /// This many reports were dropped before the app took them, the oldest first: there were more than the
    /// settings keep.
    case reportsDropped(count: Int)
    /// A record with a local edit was deleted elsewhere; the edit was discarded.
    case editOfDeletedRecord(client: CKRecord)
    /// The service refused this change, which needs attention. Other changes are not affected.
    case setAside(AttentionItem)
    /// The quota is exceeded: changes stay queued and are retried at long intervals.
    case quotaExceeded(SyncFailure)
    /// The device's storage is full. Nothing is lost; syncing continues by itself when there is
    /// room.
    case storageFull
    /// Syncing halted. The queue is kept.
    case halted(HaltReason)
}

/// A change that the service permanently refused; it is still stored, but not sent again until it is edited or retried.
public struct AttentionItem: Hashable, Sendable {
    /// The database of the record, private or shared.
    public var scope: CKDatabase.Scope
    /// The record whose change was refused.
    public var recordID: CKRecord.ID
    /// Whether the refused change is a save or a deletion.
    public var kind: PendingChange.Kind
    /// Why the service refused the change.
    public var failure: SyncFailure
}

extension AttentionItem {
    init(_ change: PendingChange, _ failure: SyncFailure, _ scope: CKDatabase.Scope) {
        self.init(
            scope: scope, recordID: CKRecord.ID(change.id), kind: change.kind, failure: failure)
    }
}

/// Records of a page that are in the file as they were fetched.
struct FetchedRows: Sendable {
    var zone: ZoneID
    var rows: [FetchedRow] = []

    func id(_ row: FetchedRow) -> RecordID { RecordID(name: row.name, zoneID: zone) }
}

/// What a transaction changed, for observers.
struct CacheOutcome: Sendable {
    /// The database in which it happened.
    var scope: CKDatabase.Scope = .private
    var changedIDs: Set<RecordID> = []
    /// The rows of records that it wrote, including those of which only system fields changed.
    var rows: [RecordID: WrittenRow] = [:]
    /// The records that are new here and are in their zone as they were fetched, in addition to `rows`. There may be
    /// many.
    var fetched: FetchedRows?
    /// Whether the app did it, not the service.
    var isLocal = false
    /// Whether another process with the file did it.
    var isOfOtherProcess = false
    /// Whether anything may have changed.
    var isWhole = false
    var events: [CacheEvent] = []
    /// The reason of a halt that a resolver requested.
    var haltReason: String?
    /// Zones whose changes must be fetched now.
    var staleZones: Set<ZoneID> = []
    /// Whether a zone must be deleted at the service.
    var hasUnwantedZone = false
}

extension CacheEvent {
    /// The records in the event.
    var records: [CKRecord] {
        switch self {
        case .recordsMissing(let records): records
        case .sharesLost(let shares): shares
        case .editOverruled(let client, let server, _): [client, server]
        case .remoteEditOverruled(let client, let server, _): [client, server]
        case .fileDamaged(_, let saves, _, _): saves
        case .editOfDeletedRecord(let client): [client]
        default: []
        }
    }
}
