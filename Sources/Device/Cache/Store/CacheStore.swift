import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// One cloud database in the cache's file: its rows, its queue, its tokens.
///
/// Invariants:
/// * A row and its pending change are written in one transaction, a page of changes and its token in
///   another one.
/// * A record has one pending change at the most. Only the service's confirmation of the same change,
///   by its sequence, and of the same generation removes it.
/// * Every row hangs on a zone, and a zone on a database: no statement reaches into another database.
/// * A file belongs to one user; with another nothing is sent and nothing is fetched.
/// * Only what an app does and what the database's changes tell makes a zone's row.
/// * What was taken to be sent is marked before it leaves: after a crash the same work is done again,
///   and the file says what the service may have already.
/// * `pending.base` is the record as the service had it when the local edits began, or as it was last
///   seen since: the ancestor of a conflict, and the change tag to send.
final class CacheStore: Sendable {
    let file: CacheFile
    let scope: CKDatabase.Scope
    let resolver: any ConflictResolver
    let editDateKey: String?
    let policy: ZoneDeletionPolicy
    let selection: ZoneSelection
    let versions: RecordVersions
    /// The zones that wait for a newer app, by the key of their row.
    let held = Mutex<[Int64: ZoneID]>([:])
    /// How many reports, and how many bytes of them, wait for the app at the most.
    let reportLimits: (count: Int, bytes: Int)
    let world: World
    let clock: ServiceClock
    /// Whether somebody is signed in on this device, as far as it knows.
    let hasAccount: @Sendable () -> Bool
    /// The record types whose schema has not the field of times, as far as this process has met it.
    let typesWithoutFieldTimes = Mutex<Set<String>>([])
    /// The rows of `record` that the transaction under way has written; see `CacheStore+RecordRows.swift`.
    let writtenRows = Mutex<[RecordID: WrittenRow]>([:])

    var pool: any DatabaseWriter { get throws { try file.pool } }
    /// False for the shared database: its zones are made by their owners.
    var createsZones: Bool { scope != .shared }
    /// Picks out the rows of `zone`, `tombstone` and `flag` that are this database's.
    var isHere: String { "database = \(scope.rawValue)" }
    /// The zones of this database, for what hangs on them.
    var zonesHere: String { "(SELECT id FROM zone WHERE \(isHere))" }

    init(
        file: CacheFile, scope: CKDatabase.Scope, settings: SyncSettings,
        resolver: any ConflictResolver, editDateKey: String?,
        versions: RecordVersions = RecordVersions(), world: World,
        hasAccount: @escaping @Sendable () -> Bool = { true }
    ) throws {
        self.versions = versions
        self.file = file
        self.scope = scope
        self.resolver = resolver
        self.editDateKey = editDateKey
        self.world = world
        self.hasAccount = hasAccount
        policy = scope != .shared ? settings.zoneDeletionPolicy : .remove
        selection = settings.zones
        reportLimits = (settings.reportsKept, settings.reportBytesKept)
        clock = ServiceClock(
            world, offsetMilliseconds: try Self.clockOffset(of: scope, in: file.pool))
        let held = try file.read { try heldZones($0) }
        self.held.withLock { $0 = held }
    }

    /// Reads what one moment had.
    ///
    /// - Throws: what SQLite and the body throw.
    func read<Value>(_ body: (Database) throws -> Value) throws -> Value { try file.read(body) }

    /// Runs one transaction and gathers its outcome; what the app must hear of is written with it.
    func write(_ body: (Database, inout CacheOutcome) throws -> Void) throws -> CacheOutcome {
        try file.write { try write(in: $0, body) }
    }

    /// The same within a transaction that is open.
    func write(
        in database: Database, _ body: (Database, inout CacheOutcome) throws -> Void
    ) throws -> CacheOutcome {
        var outcome = CacheOutcome(scope: scope)
        writtenRows.withLock { $0 = [:] }
        try body(database, &outcome)
        outcome.rows = writtenRows.withLock { $0 }
        if let fetched = outcome.fetched {
            outcome.changedIDs.reserveCapacity(outcome.changedIDs.count + fetched.rows.count)
            for row in fetched.rows { outcome.changedIDs.insert(fetched.id(row)) }
        }
        for record in outcome.events.flatMap(\.records) { _ = file.withFiles(record) }
        try keepReports(of: outcome.events, database)
        if !outcome.changedIDs.isEmpty {
            try file.noteChange(of: outcome.changedIDs, in: scope, database)
        }
        let others = Set(outcome.rows.keys.lazy.filter { !outcome.changedIDs.contains($0) })
        if !others.isEmpty {
            try file.noteChange(of: others, in: scope, isOfSystem: true, database)
        }
        return outcome
    }
}
