import Foundation
import StratusClient
import StratusRecords
import StratusSync

/// A cloud database as the cache uses it: a few requests with plain values.
///
/// Apps use ``CloudKitDatabase``; tests script their own. Every method throws `SyncFailure` for
/// errors of the service or the network, or `CancellationError`.
package protocol RemoteDatabase: Sendable {
    /// Private or shared.
    var scope: CKDatabase.Scope { get }

    /// The current user of the database; requested from the service once for each account.
    func userRecordName() async throws -> String

    /// The framework's database, for requests that bypass the cache; nil if there is none.
    var cloudDatabase: CKDatabase? { get }

    /// Whether a user is signed in on this device, without a request to the service.
    var hasAccount: Bool { get }

    /// A stream with an element whenever the account may have changed.
    func accountChanges() -> AsyncStream<Void>

    /// The name of this device, or of this process if it has none, in requests.
    var deviceID: String { get }

    /// Creates and deletes zones; returns the outcome of each, nil for success.
    ///
    /// - Parameters:
    ///   - generations: the generations of the zones to delete; a zone without one is deleted regardless of its
    ///     generation.
    ///   - operationID: an identifier for ``cancel(_:)``.
    func modifyZones(
        create: [ZoneID], delete: [ZoneID], generations: [ZoneID: Int64], operationID: String
    ) async throws -> ZoneOutcomes

    /// Saves a silent subscription for the whole database.
    ///
    /// - Parameter wasSaved: whether it was saved before; then it is saved only if it is missing.
    /// - Returns: whether it was missing.
    func saveSubscription(wasSaved: Bool) async throws -> Bool

    /// Sends changes; each save requires that the service's change tag equals the base's.
    ///
    /// - Parameter operationID: an identifier for ``cancel(_:)``.
    /// - Returns: one answer per change, in the same order.
    func send(
        _ changes: [OutgoingChange], isAtomic: Bool, operationID: String
    ) async throws -> [OutgoingAnswer]

    /// Cancels requests that were not answered, so that they have no effect if they still arrive.
    func cancel(_ operations: [UnansweredOperation]) async throws

    /// The service's records, in the same order; nil for one that does not exist.
    func records(_ ids: [RecordID]) async throws -> [Result<RecordSnapshot?, SyncFailure>]

    /// One page of the zones that changed since a token.
    ///
    /// - Parameter version: without a token, the page also names the zones that were deleted after
    ///   this version.
    func databaseChanges(
        since token: String?, deletionsAfter version: Int64?
    ) async throws -> DatabasePage

    /// One page of the zones that changed since a token. The token also counts as expired if the service has lost the
    /// state of one of the other tokens, which it returned when zones were created or deleted.
    func databaseChanges(
        since token: String?, deletionsAfter version: Int64?, knowing known: [String]
    ) async throws -> DatabasePage

    /// One page of the changes in a zone since a token.
    ///
    /// - Parameter tags: the change tags of this device's saves since the token; if the service has
    ///   lost one, the token counts as expired.
    func zoneChanges(
        _ zone: ZoneID, since token: String?, knowing tags: [String], limit: Int?
    ) async throws -> ZonePage

    /// One page of the changes in a zone; a fetch from the beginning, with all its pages, reports only deletions after
    /// a version of the zone.
    func zoneChanges(
        _ zone: ZoneID, since token: String?, deletionsAfter version: Int64?,
        knowing tags: [String], limit: Int?
    ) async throws -> ZonePage

    /// Uploads the file of an asset before its record is sent.
    ///
    /// - Parameter progress: called with the number of bytes sent so far.
    /// - Returns: the value to save, with its receipt.
    func upload(
        _ asset: OutgoingAsset, progress: @escaping @Sendable (Int64) -> Void
    ) async throws -> AssetReceipt

    /// Fetches the bytes of an asset that a record of the service holds, from an offset.
    func download(
        _ checksum: String, of id: RecordID, field: String, startingAt offset: Int64,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws

    /// A stream of the service's notifications. Hints may be lost.
    func hints() -> AsyncStream<HintEvent>

    /// Whether the service is Apple's, which requires a slower pace.
    var isAppleService: Bool { get }

    /// Reads a notification that the app received; nil when it is about another database.
    func hint(of notification: CKNotification) -> ChangeHint?
}

extension RemoteDatabase {
    package var isAppleService: Bool { false }
    package var hasAccount: Bool { true }
    package var cloudDatabase: CKDatabase? { nil }

    /// Fetches records with one request, or in halves if the service refuses so many.
    package func recordsInHalves(
        _ ids: [RecordID]
    ) async throws -> [Result<RecordSnapshot?, SyncFailure>] {
        do {
            return try await records(ids)
        } catch let failure as SyncFailure where failure.code == .limitExceeded && ids.count > 1 {
            // The same records again, in smaller requests.
            let half = ids.count / 2
            let first = try await recordsInHalves(Array(ids.prefix(half)))
            return first + (try await recordsInHalves(Array(ids.dropFirst(half))))
        }
    }

    // Defaults for services without these tokens and versions.

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

    // Defaults for databases without assets.

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
        .assetNotAvailable,
        message: "This database does not support assets. Save records without them.")
}

/// The file of an asset with the data needed to upload it.
package struct OutgoingAsset: Sendable {
    package var url: URL
    package var sizeBytes: Int64
    package var id: RecordID
    package var recordType: String
    package var field: String
}

/// An event of a stream of hints.
package enum HintEvent: Hashable, Sendable {
    /// Changes are reported from now on; earlier ones may have been missed.
    case opened
    case hint(ChangeHint)
    /// Changes are no longer reported.
    case closed
}

/// A request to modify records or zones that may still be on its way.
package struct UnansweredOperation: Hashable, Sendable {
    package var id: String
    /// The `RemoteDatabase.deviceID` with which it was sent.
    package var deviceID: String
    /// The owners of the zones that it named; only in the shared database.
    package var zoneOwners: [String]
}

package struct ZoneOutcomes: Sendable {
    package var created: [ZoneID: SyncFailure?]
    package var deleted: [ZoneID: SyncFailure?]
    /// The database's change token afterwards, if the service sends it.
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

/// A pending change, with the data needed to send it.
package struct OutgoingChange: Sendable {
    package var change: PendingChange
    /// The record as this device has it; nil for a deletion.
    package var client: RecordSnapshot?
    /// The service's last known record; nil if it has none.
    package var base: RecordSnapshot?
    /// The identifier of the change, also unique among changes of the same record after its zone was deleted.
    package var sequence: Int64
    /// Proofs of the uploads of the record's assets, by checksum.
    package var receipts: [String: String] = [:]
    /// Whether all fields are sent: the service has the record as it was before it was migrated here.
    package var isWhole = false
    /// Whether this deletes the former record of a name whose new record is saved next.
    package var isOfFormer = false

    /// The record relative to which changed fields are sent. With ``isWhole``, all of the record's fields except files
    /// count as changed, and so do removed fields.
    var sentBase: RecordSnapshot? {
        guard isWhole, let base, let client else { return base }
        return RecordSnapshot(
            id: base.id, type: base.type, system: base.system,
            parentRecordName: base.parentRecordName,
            fields: base.fields.filter { field in
                client.field(field.name) == nil || field.value?.assets.isEmpty == false
            })
    }
}

/// The service's answer to one change.
package enum OutgoingAnswer: Sendable {
    case saved(RecordSnapshot.SystemFields)
    /// Deleted, with the deletion's change tag if the service sends it.
    case deleted(tag: String?)
    /// Failed, with the service's record if the failure is a conflict.
    case failed(SyncFailure, server: RecordSnapshot?)
}

package struct DatabasePage: Sendable {
    package var changed: [ZoneID]
    package var deleted: [(zone: ZoneID, reason: ZoneDeletionReason)]
    /// How often each changed zone was created, if the service says so.
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

    /// Appends the next page; for a zone in both, the next page decides.
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
    /// Why records cannot be read, by name; see `CacheStore+UnreadableRecords`.
    package var unreadable: [String: SyncFailure] = [:]
    /// When deleted records were created, by name; known only after a loss of history.
    package var createdMillisecondsOfDeleted: [String: Int64] = [:]
    package var token: String
    package var moreComing: Bool
    /// The maximum number of changes that follow; nil if the service does not say.
    package var remainingCount: Int?

    package init(
        fetched records: [FetchedRecord], deletedNames: [String] = [], token: String,
        moreComing: Bool = false
    ) {
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

    /// Appends the next page, as if one larger page had arrived: the last change of a record
    /// counts.
    mutating func append(_ next: ZonePage) {
        if !deletedNames.isEmpty {
            let named = Set(next.records.map(\.name)).union(next.deletedNames)
            deletedNames.removeAll { named.contains($0) }
        }
        if !unreadable.isEmpty {
            let named = Set(next.records.map(\.name)).union(next.deletedNames)
            unreadable = unreadable.filter { !named.contains($0.key) }
        }
        records += next.records
        deletedNames += next.deletedNames
        unreadable.merge(next.unreadable) { $1 }
        createdMillisecondsOfDeleted.merge(next.createdMillisecondsOfDeleted) { $1 }
        token = next.token
        moreComing = next.moreComing
        remainingCount = next.remainingCount
    }

    /// Its approximate size in memory.
    var sizeEstimateBytes: Int { records.reduce(0) { $0 + $1.sizeEstimateBytes } }
}

/// Why a zone was deleted.
public enum ZoneDeletionReason: Hashable, Sendable {
    /// A client deleted it.
    case deleted
    /// The person removed the app's data in the settings.
    case purged
    /// The person reset their encrypted data.
    case encryptedDataReset
}
