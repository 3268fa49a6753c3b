import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

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
    /// The fields that the app encrypts; see `CacheStore+Encryption.swift`.
    let encryptedKeys: Mutex<EncryptedKeys>
    let resolver: any ConflictResolver
    let editDateKey: String?
    let policy: ZoneDeletionPolicy
    let selection: ZoneSelection
    /// False for the shared database: its zones are made by their owners.
    let createsZones: Bool
    let world: World

    /// Opens or creates the file.
    ///
    /// - Throws: ``CacheError`` when the file cannot be opened, or when a newer app wrote it.
    init(
        path: String, settings: SyncSettings, resolver: any ConflictResolver, editDateKey: String?,
        createsZones: Bool = true, world: World
    ) throws {
        self.resolver = resolver
        self.editDateKey = editDateKey
        self.world = world
        self.createsZones = createsZones
        policy = createsZones ? settings.zoneDeletionPolicy : .remove
        selection = settings.zones
        pool = try CacheFormat.open(path)
        encryptedKeys = Mutex(try Self.encryptedKeys(in: pool))
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
