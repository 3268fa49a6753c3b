import StratusClient
import StratusRecords
import StratusSync

/// Keeping in step with the service.
extension CloudCache {
    /// Syncs now: runs until nothing is pending and nothing is left to fetch.
    ///
    /// Items that need attention do not count. Works with and without a running loop, and restarts
    /// after a halt. Where another process syncs this file, that one does it.
    /// - Throws: ``CacheError``: `notSynced` at once without network, or when the service keeps failing;
    ///   `halted` with the reason; `disabled`; or `CancellationError`. Nothing is lost by any of them.
    public func sync() async throws {
        try migrateRecords()
        try await turn.sync()
        if keeper.fetchesAny { try await keeper.fetchWanted() }
    }

    /// Runs until ``stop()``: uploads local changes, fetches on hints and now and then, waits for the
    /// network by itself. Call it again when the app comes to the foreground: it ends a halt.
    public func start() async {
        do {
            try migrateRecords()
        } catch {
            // The loop meets the same file, and halts or waits for room with its own words.
            CacheLog(file: file, scope: nil, world: world)
                .note(.warning, "migrationFailed", ["error": "\(error)"])
        }
        await turn.start()
    }

    /// Ends the running loop. What was under way is done again later.
    public func stop() async {
        await turn.stop()
        keeper.stopFetching()
    }

    /// Lets a running loop fetch soon: a zone that is on this device alone, else all databases.
    ///
    /// - Parameters:
    ///   - zoneID: a zone that may have changed; nil is all.
    ///   - scope: the database of the zone.
    public func fetchSoon(
        _ zoneID: CKRecordZone.ID? = nil, in scope: CKDatabase.Scope = .private
    ) async {
        let hint = ChangeHint(zone: zoneID.map { ZoneID($0) })
        for database in databases where zoneID == nil || database.scope == scope {
            await database.driver.heard(hint)
        }
    }

    /// Tells that the account came, went or changed; a running loop hears of it by itself.
    ///
    /// Whatever the account is: with another user than the file's nothing is sent or fetched, and the
    /// reason of the halt is `HaltReason.otherAccount`.
    public func accountChanged() async {
        for database in databases {
            await database.driver.change { session, now in session.accountChanged(at: now) }
        }
    }

    /// Tells that the network is back. A running loop hears of it by itself where the system tells (netlink on
    /// Linux, NWPathMonitor on Apple's systems), and else tries now and then.
    public func networkBecameReachable() async {
        for database in databases {
            await database.driver.change { session, now in session.networkBecameReachable(at: now) }
        }
    }

    /// Turns syncing on or off without touching any caller, also over a restart; the queue is kept
    /// and grows meanwhile.
    public func setEnabled(_ isEnabled: Bool) async {
        for database in databases { await database.driver.setEnabled(isEnabled) }
    }

    /// Is it done, what is pending, why not.
    ///
    /// - Parameter scope: a database; nil is all of them: the sums, and of what cannot be summed up what is
    ///   worse.
    public func status(in scope: CKDatabase.Scope? = nil) async throws -> CacheStatus {
        let chosen = try scope.map { [try database($0)] } ?? databases
        return try await StatusSource(databases: chosen, turn: turn).status()
    }
}
