import StratusClient
import Synchronization

/// An object that is to be removed here, because it was deleted elsewhere.
public struct DeletedEntity: Sendable {
    public var entityType: any CloudEntity.Type
    public var syncID: String
}

/// What a sync of one type found: what the cloud has that this device lacks, and what goes.
///
/// The records are as they were fetched: their references are unloaded, and an app may read them itself
/// in place of ``apply()``.
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

    /// Takes over everything: creates, fills and links objects, with those that they refer to, and removes
    /// the deleted ones.
    public func apply() async throws {
        try await mapping.load(newRecords + updatedRecords, fetchReferences: true, round: round)
        for gone in deleted {
            try await mapping.remove(gone.entityType, gone.syncID)
        }
    }

    /// Says that the changes were taken over. Only then is the cloud changed: what was edited and deleted here
    /// is sent, and the entries of deleted objects are removed. The next sync looks only at what changes from
    /// now on.
    ///
    /// - Throws: ``MappingError``, or what the service says; the next sync tries again.
    public func finish() async throws {
        try await mapping.finish(Entity.self, comparison, since: round.ticket)
    }
}

/// What is common to the types of one sync: records that were fetched, and what was taken over of them.
final class SyncRound: Sendable {
    struct State {
        var feeds: [String: RemoteChanges] = [:]
        var records: [String: CKRecord] = [:]
        /// The change tags of the records that objects were filled from.
        var applied: [String: String] = [:]
    }

    private let state = Mutex(State())
    let isForced: Bool
    /// Whether objects keep even their names as they are.
    let isDry: Bool
    /// Of the round, taken before anything was fetched.
    let ticket: Int
    /// For this device, by type: names of deleted objects, and of their entries.
    let entries: [String: [String: String]]

    /// What the cloud had before it was looked at, by type: what is saved during the sync, be it as the link of
    /// an object of an earlier type, must not seem to lack there.
    let knownNames: [String: Set<String>]

    init(
        isForced: Bool, isDry: Bool, ticket: Int, knownNames: [String: Set<String>],
        entries: [String: [String: String]]
    ) {
        self.isForced = isForced
        self.isDry = isDry
        self.ticket = ticket
        self.knownNames = knownNames
        self.entries = entries
    }

    func withState<Value>(_ body: (inout State) -> sending Value) -> Value {
        state.withLock { body(&$0) }
    }
}

/// What is to be done about the objects of a type.
struct TypeComparison: Sendable {
    var new: [CKRecord] = []
    var updated: [CKRecord] = []
    var deletedNames: [String] = []
    /// Objects to send.
    var uploads: [any CloudEntity] = []
    /// Records that objects agree with already.
    var agreed: [CKRecord] = []
    /// Records to delete in the cloud.
    var deletions: [String] = []
    /// Entries for this device to remove.
    var entryNames: [String] = []
    var mark: String?
}
