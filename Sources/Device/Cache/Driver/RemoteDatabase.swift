import StratusClient
import StratusRecords
import StratusSync

/// A cloud database as the cache needs it: a few requests over plain values.
///
/// ``CloudKitDatabase`` is the one for apps; tests script their own. Every method throws
/// `SyncFailure` for what the service or the network did, or `CancellationError`.
package protocol RemoteDatabase: Sendable {
    /// Private or shared.
    var scope: CKDatabase.Scope { get }

    /// The user whose database this is now; asked of the service once for each account.
    func userRecordName() async throws -> String

    /// Tells, for as long as somebody listens, that the account may be another.
    func accountChanges() -> AsyncStream<Void>

    /// Creates and deletes zones; the outcome of each, nil for success.
    func modifyZones(create: [ZoneID], delete: [ZoneID]) async throws -> ZoneOutcomes

    /// Saves a silent subscription for the whole database.
    func saveSubscription() async throws

    /// Sends changes, each save under the condition that the service's change tag is the base's.
    ///
    /// - Returns: one answer per change, in the same order.
    func send(_ changes: [OutgoingChange], isAtomic: Bool) async throws -> [OutgoingAnswer]

    /// The records as the service has them, in the same order; nil for one that it has not.
    func records(_ ids: [RecordID]) async throws -> [Result<RecordSnapshot?, SyncFailure>]

    /// Which zones changed since a token; one page.
    func databaseChanges(since token: String?) async throws -> DatabasePage

    /// What changed in a zone since a token; one page.
    func zoneChanges(_ zone: ZoneID, since token: String?, limit: Int?) async throws -> ZonePage

    /// What the service tells unasked, for as long as somebody listens. Hints may be lost.
    func hints() -> AsyncStream<HintEvent>

    /// Whether the service is Apple's own, which wants a slower pace.
    var isAppleService: Bool { get }

    /// Reads a notification that the app was handed; nil when it is about another database.
    func hint(of notification: CKNotification) -> ChangeHint?
}

extension RemoteDatabase {
    package var isAppleService: Bool { false }
}

/// What a listener for hints learns.
package enum HintEvent: Hashable, Sendable {
    /// The service tells of changes from now on; what came before may have been missed.
    case opened
    case hint(ChangeHint)
    /// The service is not heard any more.
    case closed
}

package struct ZoneOutcomes: Sendable {
    package var created: [ZoneID: SyncFailure?]
    package var deleted: [ZoneID: SyncFailure?]

    package init(created: [ZoneID: SyncFailure?] = [:], deleted: [ZoneID: SyncFailure?] = [:]) {
        self.created = created
        self.deleted = deleted
    }
}

/// A pending change with all that is needed to send it.
package struct OutgoingChange: Sendable {
    package var change: PendingChange
    /// The record as this device has it; nil for a deletion.
    package var client: RecordSnapshot?
    /// The record as the service had it last; nil when it has none.
    package var base: RecordSnapshot?
    /// Tells the change from any other, also from one of the same record after its zone was deleted.
    package var sequence: Int64

    package init(
        change: PendingChange, client: RecordSnapshot?, base: RecordSnapshot?, sequence: Int64
    ) {
        self.change = change
        self.client = client
        self.base = base
        self.sequence = sequence
    }
}

/// What the service said to one change.
package enum OutgoingAnswer: Sendable {
    case saved(RecordSnapshot.SystemFields)
    case deleted
    /// With the service's record, when the failure is a conflict.
    case failed(SyncFailure, server: RecordSnapshot?)
}

package struct DatabasePage: Sendable {
    package var changed: [ZoneID]
    package var deleted: [(zone: ZoneID, reason: ZoneDeletionReason)]
    package var token: String
    package var moreComing: Bool

    package init(
        changed: [ZoneID] = [], deleted: [(zone: ZoneID, reason: ZoneDeletionReason)] = [],
        token: String, moreComing: Bool = false
    ) {
        self.changed = changed
        self.deleted = deleted
        self.token = token
        self.moreComing = moreComing
    }

    /// Takes the page that follows: of a zone that both name, it has the last word.
    mutating func append(_ next: DatabasePage) {
        let named = Set(next.changed).union(next.deleted.map(\.zone))
        changed = changed.filter { !named.contains($0) } + next.changed
        deleted = deleted.filter { !named.contains($0.zone) } + next.deleted
        token = next.token
        moreComing = next.moreComing
    }
}

package struct ZonePage: Sendable {
    package var records: [RecordSnapshot]
    package var deletedNames: [String]
    package var token: String
    package var moreComing: Bool

    package init(
        records: [RecordSnapshot] = [], deletedNames: [String] = [], token: String,
        moreComing: Bool = false
    ) {
        self.records = records
        self.deletedNames = deletedNames
        self.token = token
        self.moreComing = moreComing
    }
}

/// Why a zone is no more.
public enum ZoneDeletionReason: Hashable, Sendable {
    /// Somebody deleted it.
    case deleted
    /// The person removed the app's data in the settings.
    case purged
    /// The person reset their encrypted data.
    case encryptedDataReset
}
