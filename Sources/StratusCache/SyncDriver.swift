import Foundation
import StratusRecords
import StratusSync
import Synchronization

/// The shell around a session: does what the session decides, and writes down what came of it.
actor SyncDriver {
    let store: CacheStore
    let remote: any RemoteDatabase
    let settings: SyncSettings
    let clock: SyncClock
    let observers: Observers
    var session: SyncSession

    private var isLooping = false
    private var isStarted = false
    private var loopTask: Task<Void, Never>?
    private var hintTask: Task<Void, Never>?
    private var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    private var waiterCount = 0
    private let pause = LoopPause()
    private var lastFetchMilliseconds: Int64?
    private var lastSendMilliseconds: Int64?

    init(
        store: CacheStore, remote: any RemoteDatabase, settings: SyncSettings, clock: SyncClock,
        observers: Observers
    ) throws {
        self.store = store
        self.remote = remote
        self.settings = settings
        self.clock = clock
        self.observers = observers
        session = SyncSession(settings: settings, backlog: try store.backlog())
    }

    var now: Double { clock.uptimeSeconds() }

    // MARK: From outside

    /// Starts the loop that runs until ``stop()``.
    func start() {
        isStarted = true
        session.restart(at: now)
        if !isLooping {
            isLooping = true
            loopTask = Task { await self.loop() }
        }
        if hintTask == nil, settings.listensForNotifications {
            let hints = remote.hints()
            hintTask = Task {
                for await hint in hints { self.heard(hint) }
            }
        }
        pause.wake()
    }

    private func heard(_ hint: RemoteHint) {
        session.notified(of: hint.zone)
        pause.wake()
    }

    /// Ends the loop; what was under way is given up and done again later.
    func stop() async {
        isStarted = false
        hintTask?.cancel()
        hintTask = nil
        loopTask?.cancel()
        pause.wake()
        await loopTask?.value
        loopTask = nil
    }

    /// Runs until nothing is pending and nothing is left to fetch.
    func sync() async throws {
        guard session.isEnabled else {
            throw CacheError(.disabled, "Turn syncing on first.")
        }
        if session.halt != nil { session.restart(at: now) }
        try absorbBacklog()
        session.syncNow(at: now)
        if !isLooping {
            isLooping = true
            loopTask = Task { await self.loop() }
        }
        pause.wake()
        waiterCount += 1
        let waiter = waiterCount
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiters[waiter] = $0 }
        } onCancel: {
            // What was begun goes on until nothing is left, or until there is trouble.
            Task { await self.cancel(waiter) }
        }
    }

    func localChange(wantedZones: [ZoneID]) {
        for zone in wantedZones { session.zoneWanted(zone) }
        session.localChange(at: now)
        pause.wake()
    }

    func change(_ body: @Sendable (inout SyncSession, Double) -> Void) {
        body(&session, now)
        pause.wake()
    }

    func fillStatus(_ status: inout CacheStatus) {
        status.isRunning = isStarted
        status.isEnabled = session.isEnabled
        status.isNetworkReachable = session.isNetworkReachable
        status.isQuotaExceeded = session.isQuotaExceeded
        status.haltReason = session.halt
        status.operation = session.operation
        status.lastOperation = session.lastOperation
        status.delaySeconds = session.delaySeconds
        status.retryCount = session.retryCount
        status.lastFailure = session.lastFailure
        status.lastFetchMilliseconds = lastFetchMilliseconds
        status.lastSendMilliseconds = lastSendMilliseconds
    }

    func noteFetch() { lastFetchMilliseconds = clock.wallMilliseconds() }
    func noteSend() { lastSendMilliseconds = clock.wallMilliseconds() }

    // MARK: The loop

    private func loop() async {
        defer {
            isLooping = false
            finishWaiters(CancellationError())
        }
        while !Task.isCancelled {
            switch session.next(at: now) {
            case .perform(let operation):
                await perform(operation)
                endWaitersOnTrouble()
            case .wait(let uptimeSeconds): await wait(until: uptimeSeconds)
            case .rest(let uptimeSeconds):
                if session.isEnabled, hasUnheardChanges() { continue }
                finishWaiters(nil)
                guard isStarted else { return }
                await wait(until: uptimeSeconds)
            case .halted(let reason):
                finishWaiters(
                    CacheError(
                        .halted, "Syncing halted; all changes are kept.", haltReason: reason))
                guard isStarted else { return }
                await wait(until: nil)
            }
        }
    }

    private func wait(until uptimeSeconds: Double?) async {
        await pause.wait(until: uptimeSeconds, now: clock.uptimeSeconds, sleep: clock.sleep)
    }

    /// A change may have been written whose message is still on its way.
    private func hasUnheardChanges() -> Bool {
        do {
            try absorbBacklog()
        } catch {
            session.halt(.localStorage("\(error)"))
            return true
        }
        return !session.isAtRest
    }

    private func absorbBacklog() throws {
        let backlog = try store.backlog()
        session.setHasPendingChanges(backlog.hasPendingChanges)
        for zone in backlog.zonesToDelete { session.zoneUnwanted(zone) }
        for zone in backlog.zonesToCreate + backlog.zonesToReplace { session.zoneWanted(zone) }
    }

    /// Somebody who waits for the end of a sync hears at once of what will not pass quickly.
    private func endWaitersOnTrouble() {
        guard session.halt == nil, let failure = session.lastFailure,
            !session.isNetworkReachable || session.isQuotaExceeded
                || session.retryCount >= settings.retriesOfSyncNow
        else { return }
        finishWaiters(
            CacheError(
                .notSynced, "Nothing is lost; sync again later.", failure: failure))
        if !isStarted { loopTask?.cancel() }
    }

    private func finishWaiters(_ error: (any Error)?) {
        let waiters = waiters
        self.waiters = [:]
        for waiter in waiters.values {
            if let error { waiter.resume(throwing: error) } else { waiter.resume() }
        }
    }

    private func cancel(_ waiter: Int) {
        waiters.removeValue(forKey: waiter)?.resume(throwing: CancellationError())
    }
}
