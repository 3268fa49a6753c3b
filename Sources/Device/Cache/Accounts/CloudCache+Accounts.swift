import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// A change that the service has not confirmed.
public struct UnsentChange: Sendable {
    /// The database of the record, private or shared.
    public var scope: CKDatabase.Scope
    /// The record to save or delete.
    public var recordID: CKRecord.ID
    /// The record on this device, with the files of its assets; nil for a deletion.
    public var record: CKRecord?
}

/// The user of the file, and what happens to the file when they sign out.
///
/// ```swift
/// let unsent = try await cache.signOut(.sendThenRemove)  // throws, and removes nothing, without network
/// try await connection.endSession(container: "iCloud.org.example.Trails")
/// ```
extension CloudCache {
    /// What happens to a user's records on this device when they sign out.
    public enum SignOut: Hashable, Sendable {
        /// Pending changes are sent, and then everything is removed. If not all can be sent, nothing is
        /// removed.
        case sendThenRemove
        /// Everything stays until the user signs in again. No other user's sync touches it.
        case keep
        /// Everything is removed now, sent or not.
        case remove
    }

    /// The changes that the service has not confirmed, including those that it refused: first those of the
    /// private database, then those of the shared one, the oldest first in each.
    public func unsentChanges() throws -> [UnsentChange] {
        try file.read { database in
            try databases.flatMap { try $0.store.unsentChanges(database) }
        }
    }

    /// Ends syncing on this device for the user of this file. Call it while they are signed in, then end their session.
    ///
    /// Removed records are fetched again by the first sync after they sign in again; the same file may be opened for
    /// that. Other processes that have the file see it empty, and halt syncing it until they start again or a user
    /// signs in. Tables of the app (``CacheTransaction/database``) stay, and so does a damaged file that was kept aside
    /// (``CacheEvent/fileDamaged(keptAside:saves:deletions:unreadable:)``).
    ///
    /// - Returns: the changes that were not sent: with `keep` they stay in the file, with `remove`
    ///   these are the last copies. The files of their assets are kept as long as the records are
    ///   held.
    /// - Throws: ``CacheError`` `notSynced` or another error of ``sync()``; `unsentChanges` if the service refused a
    ///   change, which needs a decision first, or the app kept saving meanwhile. Then nothing is removed, and a loop that
    ///   was running goes on.
    @discardableResult
    public func signOut(_ choice: SignOut) async throws -> [UnsentChange] {
        if choice == .sendThenRemove { try await sync() }
        let wasStarted = await databases[0].turn.isStarted
        let order = await stopLoops()
        if choice == .keep { return try await file.disk.read { [self] in try unsentChanges() } }
        let lost: [UnsentChange]
        do {
            lost = try await file.disk.write { [self] in
                try removeEverythingHere(evenUnsent: choice == .remove)
            }
        } catch {
            // Unless the app has started or stopped the loops itself meanwhile.
            if wasStarted, isLast(order) { await start() }
            throw error
        }
        do {
            try await cachedAssets.tidy()
        } catch {
            // The files are removed later; the app must get the last copies of its changes.
            cachedAssets.noteOrphans()
        }
        return lost
    }

    /// - Returns: the changes that were not sent.
    private func removeEverythingHere(evenUnsent: Bool) throws -> [UnsentChange] {
        var outcomes: [CacheOutcome] = []
        let stores = try storesOfFile()
        let lost = try file.write { database in
            let unsent = try stores.flatMap { try $0.unsentChanges(database) }
            guard evenUnsent || unsent.isEmpty else {
                throw CacheError(
                    .unsentChanges,
                    "Changes on this device were not sent (\(unsent.count)), so the user is not signed"
                        + " out: the service refused them, they were made meanwhile, or the cache was not"
                        + " opened with their database. Resolve them, or sign out with `remove`.")
            }
            // Locating the files now keeps them as long as the records are held.
            for asset in unsent.compactMap(\.record).flatMap(\.assetFields).flatMap(\.assets) {
                _ = asset.fileURL
            }
            // The last row stays, so that the numbering continues: other processes remember the last number that they
            // saw.
            try database.execute(
                sql: "DELETE FROM change WHERE id < (SELECT max(id) FROM change)")
            try database.execute(
                sql: "UPDATE change SET records = ?", arguments: [Data("null".utf8)])
            for store in stores {
                outcomes.append(
                    try store.write(in: database) { database, outcome in
                        outcome.changedIDs = try store.removeAll(database)
                    })
                if outcomes.last?.changedIDs.isEmpty == true {
                    try file.noteChange(of: [], in: store.scope, database)
                }
            }
            // The declared types say nothing about the user, and their columns stay.
            try database.execute(
                sql: "DELETE FROM flag WHERE database <> 0 OR name <> 'types'")
            try removeHistory(database)
            return unsent
        }
        for store in databases.map(\.store) {
            store.held.withLock { $0 = [:] }
            store.locallyMigrated.withLock { $0 = [:] }
            store.forgetUser()
            store.clock.reset()
        }
        for outcome in outcomes { observers.notify(outcome) }
        try file.withPool { pool in
            pool.writeWithoutTransaction { database in
                // The rows are removed already. Overwriting the free pages too needs disk space and no
                // readers; without them the old content stays in free pages until SQLite reuses them.
                try? database.execute(sql: "VACUUM")
                _ = try? database.checkpoint(.truncate)
            }
        }
        return lost
    }

    /// The stores of all databases in the file: another process may have opened it with more of them than this cache.
    private func storesOfFile() throws -> [CacheStore] {
        let opened = databases[0].store
        return try [CKDatabase.Scope.private, .shared].map { scope in
            if let database = databases.first(where: { $0.scope == scope }) {
                return database.store
            }
            return try CacheStore(
                file: file, scope: scope, settings: SyncSettings(), resolver: opened.resolver,
                editDateKey: opened.editDateKey, versions: opened.versions, world: world)
        }
    }

    /// Removes the history of the user: events, and answers to queries of the public database.
    private func removeHistory(_ database: Database) throws {
        file.events.withLock { $0 = [] }
        try database.execute(sql: "DELETE FROM event")
        if try database.tableExists("stratus_answer") {
            try database.execute(sql: "DELETE FROM stratus_answer")
        }
    }

    /// Gives records that were made on this device while no user was signed in to the user who is signed in now, and
    /// syncs them.
    ///
    /// Until then syncing halts with `HaltReason.unclaimedRecords`, because the records may be
    /// another person's.
    public func adoptLocalRecords() async throws {
        let store = databases[0].store
        try await file.disk.write { try store.adoptLocalRecords() }
        for database in databases {
            await database.driver.change { session, now in session.restart(at: now) }
        }
    }
}
