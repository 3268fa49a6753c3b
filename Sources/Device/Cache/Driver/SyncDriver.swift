import Foundation
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// The shell around a session: does what the session decides, and writes down what came of it.
actor SyncDriver {
    let store: CacheStore
    let remote: any RemoteDatabase
    let settings: SyncSettings
    let world: World
    let observers: Observers
    var session: SyncSession

    /// Whether there was no room for the last thing to write.
    var isStorageFull = false
    private var isStarted = false
    private var loopTask: Task<Void, Never>?
    private var hintTask: Task<Void, Never>?
    private var accountTask: Task<Void, Never>?
    private var waiters: [Int: CheckedContinuation<Void, any Error>] = [:]
    private var waiterCount = 0
    private let pause = WakeSignal()
    private var lastFetchMilliseconds: Int64?
    private var lastSendMilliseconds: Int64?

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
        session = SyncSession(
            settings: settings, backlog: try store.backlog(), random: { world.random() })
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
            accountTask = Task {
                for await _ in changes { self.change { $0.accountChanged(at: $1) } }
            }
        }
        if hintTask == nil, settings.listensForNotifications {
            let hints = remote.hints()
            hintTask = Task {
                for await event in hints where !Task.isCancelled {
                    switch event {
                    case .opened: self.change { session, _ in session.channelOpened() }
                    case .hint(let hint): self.heard(hint)
                    case .closed: self.change { $0.channelClosed(at: $1) }
                    }
                }
            }
        }
        pause.wake()
    }

    /// Only the database's changes tell of a zone that is not known here.
    func heard(_ hint: ChangeHint) {
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

    /// Starts the loop unless it runs; one that is ending is followed by another.
    private func ensureLoop() {
        guard loopTask == nil else { return }
        loopTask = Task {
            await self.loop()
            self.loopEnded()
        }
    }

    private func loopEnded() {
        loopTask = nil
        // Somebody asked for it again while it was ending.
        if isStarted || !waiters.isEmpty { ensureLoop() }
    }

    /// Runs until nothing is pending and nothing is left to fetch.
    func sync() async throws {
        guard session.isEnabled else {
            throw CacheError(.disabled, "Turn syncing on first.")
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

    func setEnabled(_ isEnabled: Bool) {
        do {
            try store.setEnabled(isEnabled)
        } catch {
            // Told as the reason of the halt: a switch that is not kept would turn itself back.
            session.halt(.localStorage("\(error)"))
        }
        session.setEnabled(isEnabled, at: now)
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
        status.lastFetchMilliseconds = lastFetchMilliseconds
        status.lastSendMilliseconds = lastSendMilliseconds
    }

    func noteFetch() { lastFetchMilliseconds = world.nowMilliseconds() }
    func noteSend() { lastSendMilliseconds = world.nowMilliseconds() }

    // MARK: The loop

    private func loop() async {
        while !Task.isCancelled {
            switch session.next(at: now) {
            case .perform(let operation):
                await perform(operation)
                endWaitersOnTrouble()
            case .wait(let uptimeSeconds): await wait(until: uptimeSeconds)
            case .rest(let uptimeSeconds):
                if session.isEnabled, hasUnheardChanges() { continue }
                finishWaiters(reasonForRest)
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
        guard session.isEnabled else { return CacheError(.disabled, "Turn syncing on first.") }
        guard !session.isAtRest else { return nil }
        return CacheError(
            .notSynced, "Nothing is lost; sync again later.", failure: session.lastFailure)
    }

    func absorbBacklog() throws {
        let backlog = try store.backlog()
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
            CacheError(.notSynced, "Nothing is lost; sync again later.", failure: failure))
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
        for waiter in waiters.values {
            if let error { waiter.resume(throwing: error) } else { waiter.resume() }
        }
    }

    private func cancel(_ waiter: Int) {
        waiters.removeValue(forKey: waiter)?.resume(throwing: CancellationError())
    }
}
