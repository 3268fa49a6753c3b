import StratusClient
import StratusRecords
import StratusSync

/// Keeping in step with the service.
extension RecordCache {
    /// Syncs now: runs until nothing is pending and nothing is left to fetch.
    ///
    /// Items that need attention do not count. Works with and without a running loop, and restarts
    /// after a halt.
    /// - Throws: ``CacheError``: `notSynced` at once without network, or when the service keeps failing;
    ///   `halted` with the reason; `disabled`; or `CancellationError`. Nothing is lost by any of them.
    public func sync() async throws { try await driver.sync() }

    /// Runs until ``stop()``: uploads local changes, fetches on hints and now and then, waits for the
    /// network by itself. Call it again when the app comes to the foreground: it ends a halt.
    public func start() async { await driver.start() }

    /// Ends the running loop. What was under way is done again later.
    public func stop() async { await driver.stop() }

    /// Takes a notification that the app was handed: a hint, on which a running loop fetches.
    ///
    /// - Returns: whether it was about this database.
    @discardableResult
    public func handle(_ notification: CKNotification) async -> Bool {
        guard let hint = driver.remote.hint(of: notification) else { return false }
        await driver.heard(hint)
        return true
    }

    /// Lets a running loop fetch soon; with a zone that is on this device, only that one.
    public func fetchSoon(_ zoneID: CKRecordZone.ID? = nil) async {
        await driver.heard(ChangeHint(zone: zoneID.map { ZoneID($0) }))
    }

    /// Tells that the account came, went or changed; a running loop hears of it by itself.
    ///
    /// Whatever the account is: with another user than the file's nothing is sent or fetched, and the
    /// reason of the halt is `HaltReason.otherAccount`.
    public func accountChanged() async {
        await driver.change { session, now in session.accountChanged(at: now) }
    }

    /// Tells that the network is back; without it, the loop tries now and then.
    public func networkBecameReachable() async {
        await driver.change { session, now in session.networkBecameReachable(at: now) }
    }

    /// Turns syncing on or off without touching any caller, also over a restart; the queue is kept
    /// and grows meanwhile.
    public func setEnabled(_ isEnabled: Bool) async { await driver.setEnabled(isEnabled) }

    /// Is it done, what is pending, why not.
    public func status() async throws -> CacheStatus {
        var status = CacheStatus()
        try store.fillCounts(&status)
        await driver.fillStatus(&status)
        return status
    }

    /// Tells the loop of something that is written down already: it may arrive late, but not be lost.
    func tellDriver(_ body: @escaping @Sendable (inout SyncSession, Double) -> Void) {
        _ = world.startTask("session change") { [driver] in await driver.change(body) }
    }
}
