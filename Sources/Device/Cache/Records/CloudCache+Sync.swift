import StratusClient
import StratusRecords
import StratusSync
import Synchronization

/// Syncing with the service.
extension CloudCache {
    /// Syncs now: runs until nothing is pending and nothing is left to fetch.
    ///
    /// Changes that need attention are left out. Works with and without a running loop, and restarts after a
    /// halt. If another process syncs this file, that process does it.
    /// - Throws: ``CacheError``: `notSynced` at once without network, when the service keeps failing, or while the
    ///   cache's file cannot be used; `halted` with the reason; `disabled`; or `CancellationError`. Nothing is lost by
    ///   any of them.
    public func sync() async throws {
        do {
            try migrateRecords()
            try await databases.sync()
            if cachedAssets.fetchesAny { try await cachedAssets.fetchWanted() }
        } catch {
            throw CacheError.passing(error) ?? error
        }
    }

    /// Runs until ``stop()``: uploads local changes, fetches on notifications and at intervals, and waits for
    /// the network by itself. Call it again when the app comes to the foreground: it ends a halt.
    ///
    /// ```swift
    /// await cache.start()  // when the app comes to the foreground
    /// await cache.stop()  // when it leaves
    /// ```
    public func start() async {
        do {
            try migrateRecords()
        } catch {
            // Logged. The loop uses the same file, and halts or waits for room with its own error.
            CacheLog(file: file, scope: nil, world: world)
                .note(.warning, "migrationFailed", ["error": "\(error)"])
        }
        let order = nextOrder()
        for database in databases { await database.turn.start(order) }
    }

    /// Ends the running loop. The current operation is repeated later.
    public func stop() async {
        _ = await stopLoops()
    }

    /// Ends the running loop, like ``stop()``.
    ///
    /// - Returns: the number of this call.
    func stopLoops() async -> Int {
        let order = nextOrder()
        for database in databases { await database.turn.stop(order) }
        // Unless the loops were started again meanwhile.
        if isLast(order) { cachedAssets.stopFetching() }
        return order
    }

    /// The number of a call of ``start()`` or ``stop()``, of which the last one decides.
    func nextOrder() -> Int { orderCount.add(1, ordering: .relaxed).newValue }

    /// Whether neither ``start()`` nor ``stop()`` was called after the call with this number.
    func isLast(_ order: Int) -> Bool { orderCount.load(ordering: .relaxed) == order }

    /// Makes a running loop fetch soon: only one zone, if this device has it, otherwise all databases.
    ///
    /// - Parameters:
    ///   - zoneID: a zone that may have changed; nil means all.
    ///   - scope: the database of the zone.
    public func fetchSoon(
        _ zoneID: CKRecordZone.ID? = nil, in scope: CKDatabase.Scope = .private
    ) async {
        let hint = ChangeHint(zone: zoneID.map { ZoneID($0) })
        for database in databases where zoneID == nil || database.scope == scope {
            await database.driver.receive(hint)
        }
    }

    /// Notifies the cache that the account was signed in, signed out or replaced; a running loop
    /// notices by itself.
    ///
    /// If another user than the file's is signed in, nothing is sent or fetched, and syncing halts with
    /// `HaltReason.otherAccount`.
    public func accountChanged() async {
        for database in databases {
            await database.driver.change { session, now in session.accountChanged(at: now) }
        }
    }

    /// Notifies the cache that the network is back. The system notifies a running loop (netlink on
    /// Linux, NWPathMonitor on Apple's systems), which otherwise retries at intervals.
    public func networkBecameReachable() async {
        for database in databases {
            await database.driver.change { session, now in session.networkBecameReachable(at: now) }
        }
    }

    /// Turns syncing on or off; the setting survives a restart. While it is off, saving works as
    /// before, and changes wait in the queue.
    public func setEnabled(_ isEnabled: Bool) async {
        for database in databases { await database.driver.setEnabled(isEnabled) }
    }

    /// The state of syncing: whether it is done, what is pending, and why.
    ///
    /// - Parameter scope: a database; nil joins all of them: numbers are added, and of everything else the
    ///   worse value is taken.
    public func status(in scope: CKDatabase.Scope? = nil) async throws -> CacheStatus {
        let chosen = try scope.map { [try database($0)] } ?? databases
        return try await StatusSource(databases: chosen).status()
    }
}
