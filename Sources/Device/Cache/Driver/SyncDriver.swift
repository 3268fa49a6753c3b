import Foundation
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// Runs a session: performs the operations that it decides, and stores their outcome. It has its
/// own executor, because it reads and writes the file, which must not block a thread of Swift's
/// pool.
actor SyncDriver {
    var session: SyncSession
    /// Changes by the app that the session does not know yet.
    nonisolated let inbox = Mutex(Inbox())
    let store: CacheStore
    let remote: any RemoteDatabase
    let settings: SyncSettings
    let world: World
    let observers: Observers
    private let executor: DiskExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Whether the last write failed because the disk was full.
    var isStorageFull = false
    /// Whether the file's state must be read before the next operation, because reading it failed.
    var needsReading = false
    private var isStarted = false
    private var loopTask: Task<Void, Never>?
    private var hintTask: Task<Void, Never>?
    private var accountTask: Task<Void, Never>?
    private var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    private var waiterCount = 0
    /// Calls of ``loopEnd()`` that wait.
    private var endWaiters: [CheckedContinuation<Void, Never>] = []
    private let pause = WakeSignal()
    /// Whether the loop waits because an error of the device's own file halted it.
    nonisolated let haltedLoop = Mutex(HaltedLoop.none)
    /// Called when `haltedLoop` was set by the loop.
    nonisolated let haltListener = Mutex<(@Sendable () -> Void)?>(nil)
    let log: CacheLog
    /// The next page of changes, requested ahead.
    var pageAhead: PageAhead?
    /// The page size of a full fetch, in records.
    var fullPageSize = BatchSize(maximum: 2_000)
    /// When this process began a full fetch, and how many of its records it has stored.
    var fullFetch: (uptimeSeconds: Double, recordCount: Int)?
    /// Notes about the current operation, for the log.
    var operationNotes: [String: String] = [:]
    /// The number of the service's changes stored since the process began.
    private(set) var fetchedCount = 0
    /// The value of `fetchedCount` when the loop last rested.
    private var restedCount = 0

    init(
        store: CacheStore, remote: any RemoteDatabase, settings: SyncSettings, world: World,
        observers: Observers
    ) throws {
        self.store = store
        self.remote = remote
        var settings = settings
        if remote.isAppleService {
            settings.minimumDelaySeconds = max(
                settings.minimumDelaySeconds, SyncSettings.iCloudDelaySeconds)
        }
        self.settings = settings
        self.world = world
        self.observers = observers
        log = CacheLog(file: store.file, scope: store.scope, world: world)
        executor = DiskExecutor("stratus.cache.driver", world)
        session = SyncSession(
            settings: settings, backlog: try store.backlog(), random: { world.random() })
        // Zones that wait for a newer app.
        session.fetchScope = FetchScope(contains: { zone in
            !store.held.withLock { $0.values.contains(zone) }
        })
    }

    var now: Double { world.uptimeSeconds() }

    // MARK: From outside

    /// Starts the loop that runs until ``stop()``.
    func start() {
        isStarted = true
        session.restart(at: now)
        haltedLoop.withLock { $0 = .none }
        ensureLoop()
        wakeEndWaiters()
        if accountTask == nil {
            let changes = remote.accountChanges()
            accountTask = world.startTask("cache account") {
                for await _ in changes { await self.accountChanged() }
            }
        }
        if hintTask == nil, settings.listensForNotifications {
            let hints = remote.hints()
            hintTask = world.startTask("cache hints") {
                for await event in hints where !Task.isCancelled { await self.receive(event) }
            }
        }
        pause.wake()
    }

    private func accountChanged() {
        // The page may have been requested for another user.
        dropPageAhead()
        store.forgetUser()
        change { $0.accountChanged(at: $1) }
    }

    private func receive(_ event: HintEvent) {
        switch event {
        case .opened: change { session, _ in session.channelOpened() }
        case .hint(let hint): receive(hint)
        case .closed: change { $0.channelClosed(at: $1) }
        }
    }

    /// Handles a hint. A hint about an unknown zone leads to a fetch of the database's changes.
    func receive(_ hint: ChangeHint) {
        // After a hint during an operation the zone is fetched again anyway. Without an operation
        // the next fetch must contain the change, and a page that was requested earlier may not.
        if session.operation == nil { dropPageAhead() }
        do {
            let zone = try hint.zone.flatMap { try store.isFetched($0) ? $0 : nil }
            session.notified(of: zone)
        } catch {
            if readLater(after: error) { session.notified(of: nil) }
        }
        pause.wake()
    }

    /// Ends the loop; the current operation is cancelled and repeated later.
    func stop() async {
        isStarted = false
        hintTask?.cancel()
        hintTask = nil
        session.channelClosed(at: now)
        accountTask?.cancel()
        accountTask = nil
        finishWaiters(CancellationError())
        guard let loopTask else { return }
        loopTask.cancel()
        pause.wake()
        await loopTask.value
    }

    /// Ends a loop that was not started and that no caller waits for.
    func rest() async {
        guard !isStarted, waiters.isEmpty, let loopTask else { return }
        loopTask.cancel()
        pause.wake()
        await loopTask.value
    }

    /// Returns when no loop runs, or when the loop is started: it does not end by itself then.
    func loopEnd() async {
        while !isStarted, loopTask != nil {
            await withCheckedContinuation { endWaiters.append($0) }
        }
    }

    private func wakeEndWaiters() {
        for waiter in endWaiters { waiter.resume() }
        endWaiters = []
    }

    /// Starts the loop unless it runs; one that is ending is followed by another.
    private func ensureLoop() {
        guard loopTask == nil else { return }
        store.forgetUser()
        session.othersMayHaveSynced()
        loopTask = world.startTask("cache loop") {
            await self.loop()
            await self.loopEnded()
        }
    }

    private func loopEnded() {
        loopTask = nil
        dropPageAhead()
        // The loop was requested again while it was ending.
        if isStarted || !waiters.isEmpty { ensureLoop() }
        wakeEndWaiters()
    }

    /// Runs until nothing is pending and nothing is left to fetch.
    func sync() async throws {
        guard session.isEnabled else {
            throw CacheError.syncingIsOff
        }
        // First, so that a loop that cannot read the file stays halted.
        do { try absorbBacklog() } catch { throw CacheError.passing(error) ?? error }
        if session.halt != nil { session.restart(at: now) }
        haltedLoop.withLock { $0 = .none }
        session.syncNow(at: now)
        ensureLoop()
        pause.wake()
        waiterCount += 1
        let waiter = waiterCount
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiters[waiter] = $0 }
        } onCancel: {
            // The loop continues until nothing is left or an error occurs.
            _ = world.startTask("cache waiter") { await self.cancel(waiter) }
        }
    }

    struct Inbox {
        var zones: Set<ZoneID> = []
        var hasChanges = false
        /// Whether the database's changes must be fetched.
        var needsFetch = false
    }

    /// Reads the app's changes from the inbox. The wanted state of a zone is read from the file: a
    /// late message of a deletion could otherwise delete a zone that was created again meanwhile.
    func readInbox() {
        let received = inbox.withLock { inbox in
            defer { inbox = Inbox() }
            return inbox
        }
        do {
            for zone in received.zones { try updateState(of: zone) }
        } catch {
            if readLater(after: error) { inbox.withLock { $0.zones.formUnion(received.zones) } }
        }
        if received.needsFetch { session.notified(of: nil) }
        if received.hasChanges { session.localChange(at: now) }
        pause.wake()
    }

    func change(_ body: @Sendable (inout SyncSession, Double) -> Void) {
        body(&session, now)
        observers.wakeStatusReaders()
        pause.wake()
    }

    func setEnabled(_ isEnabled: Bool) {
        // First, because turning syncing on ends a halt.
        session.setEnabled(isEnabled, at: now)
        do {
            try store.setEnabled(isEnabled)
        } catch {
            // Reported as the reason of the halt, because a setting that is not stored would be reset at the next
            // start.
            haltSession(.localStorage("\(error)"))
        }
        log.note(.notice, isEnabled ? "enabled" : "disabled")
        observers.wakeStatusReaders()
        pause.wake()
    }

    func fillStatus(_ status: inout CacheStatus) {
        status.isRunning = isStarted
        status.isEnabled = session.isEnabled
        status.isNetworkReachable = session.isNetworkReachable
        status.isQuotaExceeded = session.isQuotaExceeded
        status.haltReason = session.halt
        status.isStorageFull = isStorageFull
        status.operation = session.operation
        status.lastOperation = session.lastOperation
        status.delaySeconds = session.delaySeconds
        status.retryCount = session.retryCount
        status.lastFailure = session.lastFailure
        status.fetch?.fetchedCount += pageAhead?.recordCount ?? 0
        if let fullFetch, fullFetch.recordCount > 0 {
            status.fetch?.recordsPerSecond =
                Double(fullFetch.recordCount) / max(now - fullFetch.uptimeSeconds, 0.001)
        }
    }

    /// Counts the changes from the service.
    func noteFetched(_ outcome: CacheOutcome) { fetchedCount += outcome.changedIDs.count }

    // MARK: The loop

    private func loop() async {
        while !Task.isCancelled {
            guard await hasRead() else { continue }
            let step = session.next(at: now)
            observers.wakeStatusReaders()
            switch step {
            case .perform(let operation):
                await performLogged(operation)
                endWaitersOnTrouble()
            case .wait(let uptimeSeconds):
                dropPageAhead()
                await wait(until: uptimeSeconds)
            case .rest(let uptimeSeconds):
                dropPageAhead()
                if session.isEnabled, hasUnreceivedChanges() { continue }
                if isStarted, reasonForRest == nil {
                    observers.notifyRest(hasChanges: fetchedCount != restedCount)
                    restedCount = fetchedCount
                }
                finishWaiters(reasonForRest)
                guard isStarted else { return }
                await wait(until: uptimeSeconds)
            case .halted(let reason):
                dropPageAhead()
                finishWaiters(
                    CacheError(
                        .halted, "Syncing halted; all changes are kept.", haltReason: reason))
                guard isStarted else { return }
                await waitInHalt(reason)
            }
        }
    }

    func wait(until uptimeSeconds: Double?) async {
        await pause.wait(until: uptimeSeconds, in: world)
    }

    /// Whether the file has changes whose message has not arrived yet.
    private func hasUnreceivedChanges() -> Bool {
        do {
            try absorbBacklog()
        } catch {
            readLater(after: error)
            return true
        }
        return session.hasWork
    }

    /// Why some changes are not synced although the loop has nothing left to do.
    private var reasonForRest: CacheError? {
        guard session.isEnabled else {
            return CacheError.syncingIsOff
        }
        guard !session.isAtRest else { return nil }
        return CacheError(
            .notSynced, "Syncing did not finish; nothing is lost. Sync again later.",
            failure: session.lastFailure)
    }

    func absorbBacklog() throws {
        let backlog = try store.backlogOfZones()
        try noteSendable()
        for zone in backlog.zonesToDelete { session.zoneUnwanted(zone) }
        for zone in backlog.zonesToCreate + backlog.zonesToReplace { session.zoneWanted(zone) }
        session.zonesChanged(backlog.zonesToFetch)
    }

    /// Updates the session with whether anything can be sent now.
    func noteSendable() throws {
        session.setHasPendingChanges(
            try store.hasSendable(withholding: session.withheldOwners))
    }

    /// Ends the wait of callers of `sync()` with an error that will not pass quickly.
    private func endWaitersOnTrouble() {
        guard session.halt == nil, let failure = session.lastFailure,
            !session.isNetworkReachable || session.retryCount >= settings.retriesOfSyncNow
        else { return }
        giveUpWaiting(
            CacheError(
                .notSynced, "Syncing did not finish; nothing is lost. Sync again later.",
                failure: failure))
    }

    /// Handles a write of another process: the loop continues with the file's new state.
    func receiveWriteOfOtherProcess() {
        do {
            try readState()
        } catch {
            readLater(after: error)
        }
        pause.wake()
    }

    func giveUpWaiting(_ error: CacheError) {
        finishWaiters(error)
        if !isStarted { loopTask?.cancel() }
    }

    private func finishWaiters(_ error: (any Error)?) {
        let waiters = waiters
        self.waiters = [:]
        for waiter in waiters.inOrder {
            if let error { waiter.resume(throwing: error) } else { waiter.resume() }
        }
    }

    private func cancel(_ waiter: Int) {
        waiters.removeValue(forKey: waiter)?.resume(throwing: CancellationError())
    }
}
