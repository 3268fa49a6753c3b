import Foundation
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

    /// The framework's database, for what is asked of the service alone; nil where there is none.
    var cloudDatabase: CKDatabase? { get }

    /// Whether somebody is signed in on this device, as far as it knows without asking anybody.
    var hasAccount: Bool { get }

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
    ///
    /// - Parameter version: without a token: the zones that were deleted after this version are named too.
    func databaseChanges(
        since token: String?, deletionsAfter version: Int64?
    ) async throws -> DatabasePage

    /// The same; the token counts as expired if the service has lost the state of one of others, which it gave as
    /// it made or deleted zones.
    func databaseChanges(
        since token: String?, deletionsAfter version: Int64?, knowing known: [String]
    ) async throws -> DatabasePage

    /// What changed in a zone since a token; one page.
    ///
    /// - Parameter tags: of what this device saved since the token; one that the service has lost is as good as an
    ///   expired token.
    func zoneChanges(
        _ zone: ZoneID, since token: String?, knowing tags: [String], limit: Int?
    ) async throws -> ZonePage

    /// The same; a fetch from the beginning, with all its pages, names the records that were deleted after a version
    /// of the zone, and no others.
    func zoneChanges(
        _ zone: ZoneID, since token: String?, deletionsAfter version: Int64?,
        knowing tags: [String], limit: Int?
    ) async throws -> ZonePage

    /// Uploads the file of an asset, before the record that has it is sent.
    ///
    /// - Parameter progress: takes the bytes that were sent.
    /// - Returns: the value to save, with its receipt.
    func upload(
        _ asset: OutgoingAsset, progress: @escaping @Sendable (Int64) -> Void
    ) async throws -> AssetReceipt

    /// Fetches the bytes of an asset that a record of the service holds, from one of them on.
    func download(
        _ checksum: String, of id: RecordID, field: String, startingAt offset: Int64,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws

    /// What the service tells unasked, for as long as somebody listens. Hints may be lost.
    func hints() -> AsyncStream<HintEvent>

    /// Whether the service is Apple's own, which wants a slower pace.
    var isAppleService: Bool { get }

    /// Reads a notification that the app was handed; nil when it is about another database.
    func hint(of notification: CKNotification) -> ChangeHint?
}

extension RemoteDatabase {
    package var isAppleService: Bool { false }
    package var hasAccount: Bool { true }
    package var cloudDatabase: CKDatabase? { nil }

    // A service may give no such tokens, and know no such versions.

    package func databaseChanges(
        since token: String?, deletionsAfter version: Int64?, knowing known: [String]
    ) async throws -> DatabasePage {
        try await databaseChanges(since: token, deletionsAfter: version)
    }

    package func zoneChanges(
        _ zone: ZoneID, since token: String?, deletionsAfter version: Int64?,
        knowing tags: [String], limit: Int?
    ) async throws -> ZonePage {
        try await zoneChanges(zone, since: token, knowing: tags, limit: limit)
    }

    // A database may know records alone.

    package func upload(
        _ asset: OutgoingAsset, progress: @escaping @Sendable (Int64) -> Void
    ) async throws -> AssetReceipt { throw SyncFailure.noAssets }

    package func download(
        _ checksum: String, of id: RecordID, field: String, startingAt offset: Int64,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws { throw SyncFailure.noAssets }
}

extension SyncFailure {
    fileprivate static let noAssets = SyncFailure(
        .assetNotAvailable, message: "This database carries no assets.")
}

/// The file of an asset with all that is needed to upload it.
package struct OutgoingAsset: Sendable {
    package var url: URL
    package var sizeBytes: Int64
    package var id: RecordID
    package var recordType: String
    package var field: String
}

/// What a listener for hints learns.
package enum HintEvent: Hashable, Sendable {
    /// Changes are heard of from now on; earlier ones may have been missed.
    case opened
    case hint(ChangeHint)
    /// Changes are no longer heard of.
    case closed
}

package struct ZoneOutcomes: Sendable {
    package var created: [ZoneID: SyncFailure?]
    package var deleted: [ZoneID: SyncFailure?]
    /// Where the database's changes stand after it, as far as the service tells.
    package var databaseToken: String?

    package init(
        created: [ZoneID: SyncFailure?] = [:], deleted: [ZoneID: SyncFailure?] = [:],
        databaseToken: String? = nil
    ) {
        self.created = created
        self.deleted = deleted
        self.databaseToken = databaseToken
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
    /// Proofs of the uploads of the record's assets, by checksum.
    package var receipts: [String: String] = [:]
    /// Whether this is the deletion of the record that was here before one of its name, whose save follows.
    package var isOfFormer = false
}

/// What the service said to one change.
package enum OutgoingAnswer: Sendable {
    case saved(RecordSnapshot.SystemFields)
    /// With the deletion's change tag, as far as the service tells it.
    case deleted(tag: String?)
    /// With the service's record, when the failure is a conflict.
    case failed(SyncFailure, server: RecordSnapshot?)
}

package struct DatabasePage: Sendable {
    package var changed: [ZoneID]
    package var deleted: [(zone: ZoneID, reason: ZoneDeletionReason)]
    /// How often each of the changed zones was made, as far as the service tells.
    package var generations: [ZoneID: Int64]
    package var token: String
    package var moreComing: Bool

    package init(
        changed: [ZoneID] = [], deleted: [(zone: ZoneID, reason: ZoneDeletionReason)] = [],
        generations: [ZoneID: Int64] = [:], token: String, moreComing: Bool = false
    ) {
        self.changed = changed
        self.deleted = deleted
        self.generations = generations
        self.token = token
        self.moreComing = moreComing
    }

    /// Takes the page that follows: of a zone that both name, it has the last word.
    mutating func append(_ next: DatabasePage) {
        let named = Set(next.changed).union(next.deleted.map(\.zone))
        changed = changed.filter { !named.contains($0) } + next.changed
        deleted = deleted.filter { !named.contains($0.zone) } + next.deleted
        generations.merge(next.generations) { $1 }
        token = next.token
        moreComing = next.moreComing
    }
}

package struct ZonePage: Sendable {
    package var records: [FetchedRecord]
    package var deletedNames: [String]
    package var token: String
    package var moreComing: Bool
    /// How many changes are still to come, at the most; nil where the service does not tell.
    package var remainingCount: Int?

    package init(
        fetched records: [FetchedRecord], deletedNames: [String] = [], token: String,
        moreComing: Bool = false, remainingCount: Int? = nil
    ) {
        self.remainingCount = remainingCount
        self.records = records
        self.deletedNames = deletedNames
        self.token = token
        self.moreComing = moreComing
    }

    package init(
        records: [RecordSnapshot] = [], deletedNames: [String] = [], token: String,
        moreComing: Bool = false
    ) {
        self.init(
            fetched: records.map { .record($0) }, deletedNames: deletedNames, token: token,
            moreComing: moreComing)
    }

    /// Takes the page that follows, as if a larger one had come: what became of a record last is what counts.
    mutating func append(_ next: ZonePage) {
        if !deletedNames.isEmpty {
            let named = Set(next.records.map(\.name)).union(next.deletedNames)
            deletedNames.removeAll { named.contains($0) }
        }
        records += next.records
        deletedNames += next.deletedNames
        token = next.token
        moreComing = next.moreComing
        remainingCount = next.remainingCount
    }

    /// What it takes in memory, about.
    var sizeEstimateBytes: Int { records.reduce(0) { $0 + $1.sizeEstimateBytes } }
}

/// Why a zone was deleted.
public enum ZoneDeletionReason: Hashable, Sendable {
    /// Somebody deleted it.
    case deleted
    /// The person removed the app's data in the settings.
    case purged
    /// The person reset their encrypted data.
    case encryptedDataReset
}
