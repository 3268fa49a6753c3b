import StratusClient
import StratusRecords
import StratusSync

/// One cloud database of a cache: its rows, its sync driver, and this process's turn to sync it.
struct CachedDatabase: Sendable {
    let store: CacheStore
    let driver: SyncDriver
    let turn: SyncTurn

    init(store: CacheStore, driver: SyncDriver) {
        self.store = store
        self.driver = driver
        turn = SyncTurn(driver: driver, world: store.world)
        turn.watchHalts()
    }

    var scope: CKDatabase.Scope { store.scope }

    /// Notifies the loop of changes that are already stored, so the message may arrive late.
    ///
    /// - Parameters:
    ///   - zones: zones that the app creates or deletes; the loop reads from the file which of the two applies.
    ///   - hasChanges: whether there may be something to send.
    ///   - needsFetch: whether the database's changes must be fetched.
    func notifyDriver(
        ofZones zones: [ZoneID], hasChanges: Bool = false, needsFetch: Bool = false
    ) {
        driver.inbox.withLock { inbox in
            inbox.zones.formUnion(zones)
            if hasChanges { inbox.hasChanges = true }
            if needsFetch { inbox.needsFetch = true }
        }
        _ = store.world.startTask("session change") { [driver] in await driver.readInbox() }
    }
}

extension [CachedDatabase] {
    /// Syncs all databases at the same time: each here, or in the process that has its lock.
    func sync() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for database in self { group.addTask { try await database.turn.sync() } }
            try await group.waitForAll()
        }
    }
}

extension CloudCache {
    /// The database of a scope.
    ///
    /// - Throws: ``CacheError`` `invalidDatabase` for a database that this cache does not keep.
    func database(_ scope: CKDatabase.Scope) throws -> CachedDatabase {
        guard let database = databases.first(where: { $0.scope == scope }) else {
            throw CacheError.unkept(scope)
        }
        return database
    }
}

extension CacheError {
    /// The error of a database that the cache was not opened with.
    static func unkept(_ scope: CKDatabase.Scope) -> CacheError {
        CacheError(
            .invalidDatabase,
            "The cache does not keep the \(scope) database. Open it with that scope, if it is private"
                + " or shared; query the public database directly.")
    }

    /// The error of a request for which the cache has no container.
    static let withoutContainer = CacheError(
        .invalidDatabase,
        "The cache was opened without a container, and has no service to ask. Open it with one.")
}
