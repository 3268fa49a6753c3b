import Foundation
import GRDB
import StratusRecords
import StratusSync

/// The cache's file: rows, the queue, tokens and flags, in one SQLite database.
///
/// Invariants:
/// * A row and its pending change are written in one transaction, a page of changes and its token in
///   another one.
/// * A record has one pending change at the most. Only the service's confirmation of the same change,
///   by its sequence, and of the same generation removes it.
/// * A file belongs to one user; with another nothing is sent and nothing is fetched.
/// * Only what an app does and what the database's changes tell makes a zone's row.
/// * Nothing on disk says that a change is under way: after a crash the same work is done again.
/// * `pending.base` is the record as the service had it when the local edits began, or as it was last
///   seen since: the ancestor of a conflict, and the change tag to send.
final class CacheStore: Sendable {
    let pool: DatabasePool
    let resolver: any ConflictResolver
    let editDateKey: String?
    let policy: ZoneDeletionPolicy
    let selection: ZoneSelection
    /// False for the shared database: its zones are made by their owners.
    let createsZones: Bool
    let clock: SyncClock

    /// Opens or creates the file.
    ///
    /// - Throws: ``CacheError`` when the file cannot be opened, or when a newer app wrote it.
    init(
        path: String, settings: SyncSettings, resolver: any ConflictResolver, editDateKey: String?,
        createsZones: Bool = true, clock: SyncClock
    ) throws {
        self.resolver = resolver
        self.editDateKey = editDateKey
        self.clock = clock
        self.createsZones = createsZones
        policy = createsZones ? settings.zoneDeletionPolicy : .remove
        selection = settings.zones
        var configuration = Configuration()
        configuration.label = "StratusCache"
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA foreign_keys = ON")
        }
        do {
            pool = try DatabasePool(path: path, configuration: configuration)
            // The pool sets its writer to NORMAL while it opens, whatever prepareDatabase did. With
            // NORMAL a loss of power may take back what was already shown as saved.
            try pool.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA synchronous = FULL")
            }
            try CacheSchema.prepare(pool)
        } catch let error as CacheError {
            throw error
        } catch let error as DatabaseError
            where error.resultCode == .SQLITE_NOTADB || error.resultCode == .SQLITE_CORRUPT
        {
            throw CacheError(
                .damaged, "Delete the cache file; what was not sent from it is lost.", cause: error)
        } catch {
            throw CacheError(
                .unwritable, "Make the cache's folder writable, with space left.", cause: error)
        }
    }

    func close() throws {
        try pool.close()
    }

    /// Runs one transaction and gathers its outcome.
    func write(_ body: (Database, inout CacheOutcome) throws -> Void) throws -> CacheOutcome {
        try pool.write { database in
            var outcome = CacheOutcome()
            try body(database, &outcome)
            return outcome
        }
    }
}

/// The tables, and the version of their layout.
enum CacheSchema {
    /// Kept in SQLite's user_version. Version 1 had no tombstones, and of a pending change neither
    /// isMadeAnew nor isUncertain.
    static let version = 2

    static func prepare(_ pool: DatabasePool) throws {
        try pool.write { database in
            let found = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
            switch found {
            case 0:
                try database.execute(sql: tables)
            case 1: try database.execute(sql: upgradeFrom1)
            case version: break
            default:
                throw CacheError(
                    .newerFormat, "Update the app: a newer one wrote this cache.")
            }
            try database.execute(sql: "PRAGMA user_version = \(version)")
            try database.execute(sql: forgetOldTombstones)
        }
    }

    // zone.state: 0 wanted, 1 known to exist, 2 to be deleted, 3 to be deleted and made
    // again, 4 refused by the service. zone.pass counts full fetches: rows that
    // a full fetch did not bring keep an older pass and are deleted at its end.
    // pending.earlier: 8-byte digests of edits that newer ones took the place of; the service may have
    // got one of them without our hearing of it. pending.errorCode: set aside, needs attention.
    // pending.isMadeAnew: the base is of a record that was deleted before this one was made.
    // pending.isUncertain: was sent, without an answer.
    // tombstone: what was here and is gone, zones with an empty name. A row says nothing of a record
    // or zone that is here again.
    private static let tables = """
        CREATE TABLE flag (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
        CREATE TABLE zone (
            id INTEGER PRIMARY KEY, name TEXT NOT NULL, owner TEXT NOT NULL,
            state INTEGER NOT NULL, token TEXT, pass INTEGER NOT NULL DEFAULT 0,
            isRefetching INTEGER NOT NULL DEFAULT 0, needsFetch INTEGER NOT NULL DEFAULT 0,
            UNIQUE (name, owner));
        CREATE TABLE record (
            id INTEGER PRIMARY KEY, zone INTEGER NOT NULL REFERENCES zone ON DELETE CASCADE,
            name TEXT NOT NULL, type TEXT NOT NULL, system BLOB, parent TEXT, fields BLOB NOT NULL,
            pass INTEGER NOT NULL, UNIQUE (zone, name));
        CREATE INDEX recordByType ON record (zone, type);
        CREATE TABLE pending (
            sequence INTEGER PRIMARY KEY AUTOINCREMENT,
            zone INTEGER NOT NULL REFERENCES zone ON DELETE CASCADE, name TEXT NOT NULL,
            kind INTEGER NOT NULL, generation INTEGER NOT NULL, edited INTEGER NOT NULL,
            baseType TEXT, baseSystem BLOB, baseParent TEXT, baseFields BLOB,
            earlier BLOB NOT NULL DEFAULT x'', rounds INTEGER NOT NULL DEFAULT 0,
            attempts INTEGER NOT NULL DEFAULT 0, errorCode INTEGER, errorMessage TEXT,
            isMadeAnew INTEGER NOT NULL DEFAULT 0, isUncertain INTEGER NOT NULL DEFAULT 0,
            UNIQUE (zone, name));
        CREATE INDEX pendingToSend ON pending (sequence) WHERE errorCode IS NULL;
        \(tombstones)
        """

    private static let tombstones = """
        CREATE TABLE tombstone (
            id INTEGER PRIMARY KEY, owner TEXT NOT NULL, zone TEXT NOT NULL, name TEXT NOT NULL,
            UNIQUE (owner, zone, name));
        """

    private static let upgradeFrom1 = """
        ALTER TABLE pending ADD COLUMN isMadeAnew INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE pending ADD COLUMN isUncertain INTEGER NOT NULL DEFAULT 0;
        \(tombstones)
        """

    /// Nobody holds records that were deleted 100,000 deletions ago.
    private static let forgetOldTombstones =
        "DELETE FROM tombstone WHERE id <= (SELECT max(id) FROM tombstone) - 100000"
}
