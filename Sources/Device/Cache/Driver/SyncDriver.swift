import Foundation
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// The shell around a session: does what the session decides, and writes down what came of it, on a queue
/// of its own: it reads and writes the file between two answers, and no thread of the pool waits for that.
actor SyncDriver {
    let store: CacheStore
    let remote: any RemoteDatabase
    let settings: SyncSettings
    let world: World
    let observers: Observers
    var session: SyncSession
    /// What the app did and the session has not heard of.
    nonisolated let inbox = Mutex(Inbox())
    private let executor: DiskExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Whether there was no room for the last thing to write.
    var isStorageFull = false
    private var isStarted = false
    private var loopTask: Task<Void, Never>?
    private var hintTask: Task<Void, Never>?
    private var accountTask: Task<Void, Never>?
    private var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    private var waiterCount = 0
    private let pause = WakeSignal()
    let log: CacheLog
    /// The page of changes that comes next, asked for already.
    var pageAhead: PageAhead?
    /// Records of a page of a full fetch.
    var fullPageSize = BatchSize(maximum: 2_000)
    /// When this process began a full fetch, and the records of it that it has written.
    var fullFetch: (uptimeSeconds: Double, recordCount: Int)?
    /// What the operation under way did, for the log.
    var operationNotes: [String: String] = [:]
    /// Changes of the service that were written down, since the process began.
    private(set) var fetchedCount = 0
    /// The same when the loop last rested.
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
        session.focus = FetchFocus(contains: { zone in
            !store.held.withLock { $0.values.contains(zone) }
        })
    }

    var now: Double { world.uptimeSeconds() }

    // MARK: From outside

    /// Starts the loop that runs until ``stop()``.
    func start() {
        isStarted = true
        session.restart(at: now)
        ensureLoop()
        if accountTask == nil {
            let changes = remote.accountChanges()
            accountTask = world.startTask("cache account") {
                for await _ in changes { await self.accountChanged() }
            }
        }
        if hintTask == nil, settings.listensForNotifications {
            let hints = remote.hints()
            hintTask = world.startTask("cache hints") {
                for await event in hints where !Task.isCancelled { await self.heard(event) }
            }
        }
        pause.wake()
    }

    private func accountChanged() {
        // It was asked for as somebody else, perhaps.
        dropPageAhead()
        change { $0.accountChanged(at: $1) }
    }

    private func heard(_ event: HintEvent) {
        switch event {
        case .opened: change { session, _ in session.channelOpened() }
        case .hint(let hint): heard(hint)
        case .closed: change { $0.channelClosed(at: $1) }
        }
    }

    /// Only the database's changes tell of a zone that is not known here.
    func heard(_ hint: ChangeHint) {
        // A hint during an operation has the zone fetched again after it; before the next one it is that one which
        // must have the change, and what was asked for earlier may not.
        if session.operation == nil { dropPageAhead() }
        do {
            let zone = try hint.zone.flatMap { try store.isFetched($0) ? $0 : nil }
            session.notified(of: zone)
        } catch {
            session.halt(.localStorage("\(error)"))
        }
        pause.wake()
    }

    /// Ends the loop; what was under way is given up and done again later.
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

    /// Ends a loop that was not started and for which nobody waits.
    func rest() async {
        guard !isStarted, waiters.isEmpty, let loopTask else { return }
        loopTask.cancel()
        pause.wake()
        await loopTask.value
    }

    /// Starts the loop unless it runs; one that is ending is followed by another.
    private func ensureLoop() {
        guard loopTask == nil else { return }
        loopTask = world.startTask("cache loop") {
            await self.loop()
            await self.loopEnded()
        }
    }

    private func loopEnded() {
        loopTask = nil
        dropPageAhead()
        // Somebody asked for it again while it was ending.
        if isStarted || !waiters.isEmpty { ensureLoop() }
    }

    /// Runs until nothing is pending and nothing is left to fetch.
    func sync() async throws {
        guard session.isEnabled else {
            throw CacheError(.disabled, "Syncing is turned off. Turn it on first.")
        }
        if session.halt != nil { session.restart(at: now) }
        try absorbBacklog()
        session.syncNow(at: now)
        ensureLoop()
        pause.wake()
        waiterCount += 1
        let waiter = waiterCount
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiters[waiter] = $0 }
        } onCancel: {
            // What was begun goes on until nothing is left, or until there is trouble.
            _ = world.startTask("cache waiter") { await self.cancel(waiter) }
        }
    }

    struct Inbox {
        var zones: Set<ZoneID> = []
        var hasChanges = false
        /// Whether the database's changes must be fetched.
        var needsFetch = false
    }

    /// Hears of what the app did. What it wants of a zone is read in the file: word of a deletion that comes
    /// late, after the zone was deleted and made again, would delete the new one.
    func readInbox() {
        let heard = inbox.withLock { inbox in
            defer { inbox = Inbox() }
            return inbox
        }
        do {
            for zone in heard.zones { try hear(of: zone) }
        } catch {
            session.halt(.localStorage("\(error)"))
        }
        if heard.needsFetch { session.notified(of: nil) }
        if heard.hasChanges { session.localChange(at: now) }
        pause.wake()
    }

    private func hear(of zone: ZoneID) throws {
        switch try store.state(of: zone) {
        case .unwanted: session.zoneUnwanted(zone)
        case .replaced:
            session.zoneUnwanted(zone)
            session.zoneWanted(zone)
        case .wanted: session.zoneWanted(zone)
        case .existing: if try store.needsFetch(zone) { session.zonesChanged([zone]) }
        case .refused, .detached, nil: break
        }
    }

    func change(_ body: @Sendable (inout SyncSession, Double) -> Void) {
        body(&session, now)
        observers.wakeStatusReaders()
        pause.wake()
    }

    func setEnabled(_ isEnabled: Bool) {
        do {
            try store.setEnabled(isEnabled)
        } catch {
            // Told as the reason of the halt: a switch that is not kept would turn itself back.
            session.halt(.localStorage("\(error)"))
        }
        session.setEnabled(isEnabled, at: now)
        log.note(.notice, isEnabled ? "enabled" : "disabled")
        observers.wakeStatusReaders()
        pause.wake()
    }

    func fillStatus(_ status: inout CacheStatus) {
        status.isRunning = isStarted
        status.isEnabled = session.isEnabled
        status.isNetworkReachable = session.isNetworkReachable
        status.isStorageFull = isStorageFull
        status.isQuotaExceeded = session.isQuotaExceeded
        status.haltReason = session.halt
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

    /// Counts what the service brought.
    func noteFetched(_ outcome: CacheOutcome) { fetchedCount += outcome.changedIDs.count }

    // MARK: The loop

    private func loop() async {
        while !Task.isCancelled {
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
                if session.isEnabled, hasUnheardChanges() { continue }
                if isStarted, reasonForRest == nil {
                    observers.tellRest(hasChanges: fetchedCount != restedCount)
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
                await wait(until: nil)
            }
        }
    }

    private func wait(until uptimeSeconds: Double?) async {
        await pause.wait(until: uptimeSeconds, in: world)
    }

    /// A change may have been written whose message is still on its way.
    private func hasUnheardChanges() -> Bool {
        do {
            try absorbBacklog()
        } catch {
            session.halt(.localStorage("\(error)"))
            return true
        }
        return session.hasWork
    }

    /// Why it is not all done though nothing is left to do.
    private var reasonForRest: CacheError? {
        guard session.isEnabled else {
            return CacheError(.disabled, "Syncing is turned off. Turn it on first.")
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

    /// Lets the session know whether anything can be sent now.
    func noteSendable() throws {
        session.setHasPendingChanges(
            try store.hasSendable(withholding: session.withheldOwners))
    }

    /// Somebody who waits for the end of a sync hears at once of what will not pass quickly.
    private func endWaitersOnTrouble() {
        guard session.halt == nil, let failure = session.lastFailure,
            !session.isNetworkReachable || session.retryCount >= settings.retriesOfSyncNow
        else { return }
        giveUpWaiting(
            CacheError(
                .notSynced, "Syncing did not finish; nothing is lost. Sync again later.",
                failure: failure))
    }

    /// Another process wrote into the file: the loop goes on with what is there now.
    func heardOfOtherProcess() {
        do {
            session.setEnabled(try store.backlog().isEnabled, at: now)
            try absorbBacklog()
        } catch {
            session.halt(.localStorage("\(error)"))
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
