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
        try await turn.sync()
    }

    /// Runs until ``stop()``: uploads local changes, fetches on hints and now and then, waits for the
    /// network by itself. Call it again when the app comes to the foreground: it ends a halt.
    public func start() async { await turn.start() }

    /// Ends the running loop. What was under way is done again later.
    public func stop() async { await turn.stop() }

    /// Takes a notification that the app was handed: a hint, on which a running loop fetches.
    ///
    /// - Returns: whether it was about one of the databases.
    @discardableResult
    public func handle(_ notification: CKNotification) async -> Bool {
        var isOurs = false
        for database in databases {
            guard let hint = database.driver.remote.hint(of: notification) else { continue }
            await database.driver.heard(hint)
            isOurs = true
        }
        return isOurs
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

    /// Tells that the network is back; without it, the loop tries now and then.
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
        var all: CacheStatus?
        for database in chosen {
            var status = CacheStatus()
            try database.store.fillCounts(&status)
            await database.driver.fillStatus(&status)
            all = all?.joined(with: status) ?? status
        }
        all?.isSyncedElsewhere = await turn.isWaiting
        return all ?? CacheStatus()
    }
}
