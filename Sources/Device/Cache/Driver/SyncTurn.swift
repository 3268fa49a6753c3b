import StratusClient
import StratusRuntime
import StratusSync
import Synchronization

/// Decides which process syncs a database of a file: the one that holds its lock. The others wait for it.
actor SyncTurn {
    /// Seconds between attempts to take the lock: on some systems nothing is reported when the
    /// process that holds it was killed.
    private static let lookSeconds: Double = 5
    /// Reports of the network within this many seconds count as one.
    private static let networkSeconds: Double = 1
    private static let syncedByEngine =
        "An app syncs this file with a CKSyncEngine, which does not sync for others. Sync there, or end that app."

    let driver: SyncDriver
    let world: World
    private var file: CacheFile { driver.store.file }
    private var scope: CKDatabase.Scope { driver.store.scope }
    private(set) var isStarted = false
    /// The newest order to start or stop.
    private var lastOrder = 0
    /// How often the loop was started.
    private var startCount = 0
    private var isHeld = false
    private var syncCount = 0
    /// Calls that ended with an error while the driver's loop was still running.
    private var openEndCount = 0
    /// Calls that are starting or stopping the driver.
    private var changingCount = 0
    private var loopEnd: Task<Void, Never>?
    private var waiting: Task<Void, Never>?
    private var answering: Task<Void, Never>?
    private var signals: [Int: WakeSignal] = [:]
    private var network: NetworkWatch?
    private var networkUptimeSeconds = -Double.infinity
    private var signalCount = 0
    private let executor: DiskExecutor
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    init(driver: SyncDriver, world: World) {
        self.driver = driver
        self.world = world
        executor = DiskExecutor("stratus.cache.turn", world)
    }

    /// Whether the loop was started, and another process syncs.
    var isWaiting: Bool { isStarted && !isHeld && waiting != nil }

    /// Starts the loop, here or once this process has the lock.
    ///
    /// - Parameter order: the number of the call. Calls that arrive late, after one with a higher number, have no effect,
    ///   so that all databases of a file follow the same one.
    func start(_ order: Int) async {
        guard order > lastOrder else { return }
        lastOrder = order
        isStarted = true
        if network == nil {
            network = NetworkWatch { [weak self, world] in
                _ = world.startTask("network came") { [weak self] in await self?.networkCame() }
            }
        }
        await begin()
    }

    private func begin() async {
        startCount += 1
        if take() {
            await startDriver()
        } else if waiting == nil {
            waiting = world.startTask("cache turn") { await self.waitForTurn() }
        }
    }

    /// Ends the loop.
    ///
    /// - Parameter order: as for ``start(_:)``.
    func stop(_ order: Int) async {
        guard order > lastOrder else { return }
        lastOrder = order
        isStarted = false
        network?.end()
        network = nil
        waiting?.cancel()
        waiting = nil
        answering?.cancel()
        answering = nil
        changingCount += 1
        await stopDriver()
        changingCount -= 1
        giveBackIfIdle()
    }

    /// Stops the driver; a loop that is started again while the earlier one ends is not waited for.
    private func stopDriver() async {
        let count = startCount
        await driver.stop()
        guard startCount == count else { return }
        await loopEnd?.value
    }

    /// Ends a loop that was not started and that no caller waits for.
    func rest() async {
        guard !isStarted, syncCount == 0 else { return }
        await driver.rest()
        await loopEnd?.value
        giveBackIfIdle()
    }

    /// Syncs, or asks the process that holds the lock to do so.
    func sync() async throws {
        syncCount += 1
        do {
            try await syncOrAsk()
            syncCount -= 1
            giveBackIfIdle()
        } catch {
            syncCount -= 1
            giveBackAfterLoop()
            throw error
        }
    }

    private func syncOrAsk() async throws {
        if take() { return try await driver.sync() }
        let number = try file.askForSync(of: scope)
        let (key, signal) = addSignal()
        defer { signals[key] = nil }
        while true {
            try Task.checkCancellation()
            if let trouble = try file.answerToSync(number, of: scope) {
                guard trouble.isEmpty else {
                    throw CacheError(
                        .notSynced, "Syncing did not finish; nothing is lost. Sync again later.",
                        failure: SyncFailure(.serviceUnavailable, message: trouble))
                }
                return
            }
            // The other process ended without an answer.
            if take() {
                await driver.receiveWriteOfOtherProcess()
                return try await driver.sync()
            }
            await signal.wait(until: world.uptimeSeconds() + Self.lookSeconds, in: world)
        }
    }

    /// Handles a write of another process, or its release of the lock.
    func observeOtherProcess(hasChanges: Bool) async {
        for signal in signals.inOrder { signal.wake() }
        if hasChanges { await driver.receiveWriteOfOtherProcess() }
        let isEngines = driver.store.engineLockOwner.withLock { $0 != nil }
        guard isHeld || isEngines, answering == nil else { return }
        do {
            guard let number = try file.openQuestion(about: scope) else { return }
            guard isHeld else {
                return try file.answerSync(number, of: scope, trouble: Self.syncedByEngine)
            }
            answering = world.startTask("cache answer") { await self.answer(number) }
        } catch {
            // The request stays in the file and is read again after the next commit of another process. Until then the
            // process that asked waits; it syncs itself when this process ends.
            return
        }
    }

    private func answer(_ number: Int64) async {
        // If the lock was given back meanwhile, the process that asked gets it.
        guard take() else {
            answering = nil
            return
        }
        syncCount += 1
        var trouble = ""
        var hasEnded = true
        do {
            try await driver.sync()
        } catch {
            hasEnded = false
            trouble = "\(error)"
        }
        // If the answer cannot be stored, as on a full disk, the process that asked keeps waiting,
        // as for a slow service, until it gets the lock.
        try? file.answerSync(number, of: scope, trouble: trouble)
        answering = nil
        syncCount -= 1
        if hasEnded { giveBackIfIdle() } else { giveBackAfterLoop() }
    }

    private func waitForTurn() async {
        let (key, signal) = addSignal()
        defer { signals[key] = nil }
        while !Task.isCancelled, isStarted {
            if take() {
                waiting = nil
                await startDriver(isAfterOtherProcess: true)
                return
            }
            await signal.wait(until: world.uptimeSeconds() + Self.lookSeconds, in: world)
        }
    }

    private func addSignal() -> (key: Int, signal: WakeSignal) {
        let signal = WakeSignal()
        signalCount += 1
        signals[signalCount] = signal
        return (signalCount, signal)
    }

    private func take() -> Bool {
        if !isHeld { isHeld = file.lock.take(scope) }
        return isHeld
    }

    /// Gives the lock back after the loop has ended. After an error, or the end of the caller's task, the loop still
    /// runs for a while, and must not write while another process syncs.
    private func giveBackAfterLoop() {
        guard isHeld, !isStarted else { return giveBackIfIdle() }
        openEndCount += 1
        loopEnd = world.startTask("cache turn's end") { await self.awaitLoop() }
    }

    private func awaitLoop() async {
        await driver.loopEnd()
        openEndCount -= 1
        giveBackIfIdle()
    }

    private func giveBackIfIdle() {
        guard isHeld, syncCount == 0, changingCount == 0 else { return }
        // A loop that was started does not end after such a call.
        guard isStarted ? driver.loopHalt == .waiting : openEndCount == 0 else { return }
        isHeld = false
        file.lock.giveBack(scope)
    }

    /// Sets what the driver calls when an error of the device's own file has halted its loop.
    nonisolated func watchHalts() {
        driver.haltListener.withLock { listener in
            listener = { [weak self, world] in
                _ = world.startTask("cache halt") { [weak self] in await self?.loopHalted() }
            }
        }
    }

    /// Gives the lock back while an error of the device's own file halts the loop: another process may be able to use
    /// the file. When the halt has ended, starts the loop again, once it has the lock.
    func loopHalted() async {
        if isStarted, driver.loopHalt == .resumable {
            await begin()
        } else {
            giveBackIfIdle()
        }
    }

    /// Handles a new link, address or route of the system. Often many are reported at once.
    func networkCame() async {
        guard isStarted, world.uptimeSeconds() >= networkUptimeSeconds + Self.networkSeconds else {
            return
        }
        networkUptimeSeconds = world.uptimeSeconds()
        await driver.change { session, now in session.networkBecameReachable(at: now) }
    }

    /// Starts the driver, unless it is stopped meanwhile: a loop that began after the stop would not be stopped, and
    /// would run without the lock. A later call of ``start(_:)`` starts the driver itself.
    private func startDriver(isAfterOtherProcess: Bool = false) async {
        let count = startCount
        changingCount += 1
        if isAfterOtherProcess { await driver.receiveWriteOfOtherProcess() }
        if isStarted, startCount == count { await driver.start() }
        changingCount -= 1
        // The loop may have halted meanwhile.
        giveBackIfIdle()
    }
}
