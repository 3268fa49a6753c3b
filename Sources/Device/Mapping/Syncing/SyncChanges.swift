import StratusClient
import Synchronization

/// An object to remove here because it was deleted elsewhere.
public struct DeletedEntity: Sendable {
    /// The mapped type of the object.
    public var entityType: any CloudEntity.Type
    /// The sync ID of the object, which was the name of its record.
    public var syncID: String
}

/// The result of a sync of one type: new, updated and deleted objects of the cloud.
///
/// The records are as fetched: their references are not loaded, and an app may read them itself
/// instead of calling ``apply()``.
public struct SyncChanges<Entity: CloudEntity>: Sendable {
    /// Records without an object here.
    public let newRecords: [CKRecord]
    /// Records that are newer than their objects.
    public let updatedRecords: [CKRecord]
    /// Objects whose records were deleted.
    public let deleted: [DeletedEntity]
    let comparison: TypeComparison
    let round: SyncRound
    let mapping: CloudMapping

    /// Applies all changes: creates, fills and links objects, with those that they refer to, and
    /// removes the deleted ones.
    public func apply() async throws {
        try await mapping.load(newRecords + updatedRecords, fetchReferences: true, round: round)
        for gone in deleted {
            try await mapping.remove(gone.entityType, gone.syncID)
        }
    }

    /// Confirms that the changes were applied. Only then is the cloud changed: local edits and
    /// deletions are sent, and the entries of deleted objects are removed. The next sync handles
    /// only later changes.
    ///
    /// - Throws: ``MappingError``, or the service's error; the next sync tries again.
    public func finish() async throws {
        try await mapping.finish(Entity.self, comparison, since: round.ticket)
    }
}

/// The state that the types of one sync share: fetched records, and which of them were applied.
final class SyncRound: Sendable {
    struct State {
        var feeds: [String: RemoteChanges] = [:]
        var records: [String: CKRecord] = [:]
        /// The change tags of the records that objects were filled from.
        var applied: [String: String] = [:]
        /// The errors of the records that this sync set aside.
        var unreadable: [String: CKError] = [:]
    }

    private let state = Mutex(State())
    let isForced: Bool
    /// Whether nothing is changed, not even the names of objects.
    let isDry: Bool
    /// The ticket of the round, taken before anything was fetched.
    let ticket: Int
    /// The entries for this device, by type: names of deleted objects, and of their entries.
    let entries: [String: [String: String]]

    /// The names of the cloud's known records before the sync, by type: an object that is saved
    /// during the sync, such as a link of an earlier type, must not seem to be missing in the
    /// cloud.
    let knownNames: [String: Set<String>]
    /// Records, by name, that were set aside and can be read now.
    let readableAgain: [String: CKRecord]

    init(
        isForced: Bool, isDry: Bool, ticket: Int, knownNames: [String: Set<String>],
        entries: [String: [String: String]], readableAgain: [String: CKRecord]
    ) {
        self.isForced = isForced
        self.isDry = isDry
        self.ticket = ticket
        self.knownNames = knownNames
        self.entries = entries
        self.readableAgain = readableAgain
    }

    func withState<Value>(_ body: (inout State) -> sending Value) -> Value {
        state.withLock { body(&$0) }
    }
}

/// The work for the objects of a type.
struct TypeComparison: Sendable {
    var new: [CKRecord] = []
    var updated: [CKRecord] = []
    var deletedNames: [String] = []
    /// Objects to send.
    var uploads: [any CloudEntity] = []
    /// Records that equal their objects.
    var agreed: [CKRecord] = []
    /// Records to delete in the cloud.
    var deletions: [String] = []
    /// Entries for this device to remove.
    var entryNames: [String] = []
    /// Names of records that are no longer set aside.
    var readableNames: Set<String> = []
    var mark: String?
}
