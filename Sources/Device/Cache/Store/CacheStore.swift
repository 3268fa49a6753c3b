import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// One cloud database in the cache's file: its rows, queue and tokens.
///
/// Invariants:
/// * A row and its pending change are written in one transaction, as are a page of changes and its
///   token.
/// * A record has at most one pending change. Only the service's confirmation of the same sequence
///   and generation removes it.
/// * Every row belongs to a zone, and a zone to a database: no statement touches another database.
/// * A file belongs to one user; nothing is sent or fetched for another.
/// * A zone's row is created only by the app's own actions and by the database's changes.
/// * Changes are marked before they are sent: after a crash they are sent again, and the file shows
///   which of them the service may already have.
/// * `pending.base` is the service's record when the local edits began, or the newest one fetched
///   since: the ancestor of a conflict, and the change tag to send.
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
    /// The `EngineStore` of this cache that has the database's lock; nil if none has it.
    let engineLockOwner = Mutex<ObjectIdentifier?>(nil)
    /// The signals of the `EngineStore`s of this cache that wait for the database's lock.
    let engineLockSignals = Mutex<[WakeSignal]>([])
    /// The flags of records that this process could not read; see `CacheStore+UnreadableRecords`.
    let triedRecords = Mutex<Set<String>>([])
    /// The user for whom this process syncs, from its first operation on.
    let syncedUser = Mutex<String?>(nil)
    /// The maximum number and size in bytes of reports that are kept for the app.
    let reportLimits: (count: Int, bytes: Int)
    let world: World
    let clock: ServiceClock
    /// Whether a user is signed in on this device, without a request to the service.
    let hasAccount: @Sendable () -> Bool
    /// The record types whose schema was found, by this process, to lack the field of times.
    let typesWithoutFieldTimes = Mutex<Set<String>>([])
    /// The first version to which records of a type were ever migrated on this device alone.
    let locallyMigrated = Mutex<[String: Int64]>([:])
    /// The rows of `record` that the current transaction has written; see
    /// `CacheStore+RecordRows.swift`.
    let writtenRows = Mutex<[RecordID: WrittenRow]>([:])

    /// The file's connections, for tests.
    var pool: any DatabaseWriter { get throws { try file.pool } }
    /// False for the shared database, whose zones are created by their owners.
    var createsZones: Bool { scope != .shared }
    /// The SQL condition for rows of this database in `zone`, `tombstone` and `flag`.
    let isHere: String
    /// The zones of this database as SQL, for rows that belong to zones.
    var zonesHere: String { "(SELECT id FROM zone WHERE \(isHere))" }

    init(
        file: CacheFile, scope: CKDatabase.Scope, settings: SyncSettings,
        resolver: any ConflictResolver, editDateKey: String?,
        versions: RecordVersions = RecordVersions(), world: World,
        hasAccount: @escaping @Sendable () -> Bool = { true }
    ) throws {
        self.file = file
        self.scope = scope
        isHere = "database = \(scope.rawValue)"
        self.world = world
        clock = ServiceClock(
            world,
            offsetMilliseconds: try file.withPool { try Self.clockOffset(of: scope, in: $0) })
        policy = scope != .shared ? settings.zoneDeletionPolicy : .remove
        selection = settings.zones
        reportLimits = (settings.reportsKept, settings.reportBytesKept)
        self.resolver = resolver
        self.editDateKey = editDateKey
        self.versions = versions
        self.hasAccount = hasAccount
        try readHeldZones()
        try readLocalMigrations()
    }

    /// Wakes the `EngineStore`s of this cache that wait for the database's lock, because it may be free.
    func wakeEngines() {
        for signal in engineLockSignals.withLock({ $0 }) { signal.wake() }
    }

    /// Reads a consistent snapshot.
    ///
    /// - Throws: errors of SQLite and of the body.
    func read<Value>(_ body: (Database) throws -> Value) throws -> Value { try file.read(body) }
}
