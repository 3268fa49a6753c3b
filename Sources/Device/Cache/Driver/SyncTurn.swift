import StratusRuntime
import StratusSync
import Synchronization

/// Decides which process syncs a file: the one that holds its lock. The others wait for it.
actor SyncTurn {
    /// Seconds between attempts to take the lock: on some systems nothing is reported when the
    /// process that holds it was killed.
    private static let lookSeconds: Double = 5
    /// Reports of the network within this many seconds count as one.
    private static let networkSeconds: Double = 1

    let file: CacheFile
    let drivers: [SyncDriver]
    let world: World
    private(set) var isStarted = false
    /// How often the loops were started.
    private var startCount = 0
    private var isHeld = false
    private var syncCount = 0
    /// Calls that ended with an error while a driver's loop was still running.
    private var openEndCount = 0
    /// Calls that are starting the drivers.
    private var startingCount = 0
    /// Calls that are stopping the drivers, whose loops still run.
    private var stoppingCount = 0
    private var loopsEnd: Task<Void, Never>?
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

    init(file: CacheFile, drivers: [SyncDriver], world: World) {
        self.file = file
        self.drivers = drivers
        self.world = world
        executor = DiskExecutor("stratus.cache.turn", world)
    }

    /// Whether the loop was started, and another process syncs.
    var isWaiting: Bool { isStarted && !isHeld && waiting != nil }

    func start() async {
        isStarted = true
        startCount += 1
        if network == nil {
            network = NetworkWatch { [weak self, world] in
                _ = world.startTask("network came") { [weak self] in await self?.networkCame() }
            }
        }
        if take() {
            await startDrivers()
        } else if waiting == nil {
            waiting = world.startTask("cache turn") { await self.waitForTurn() }
        }
    }

    /// Ends the loops.
    ///
    /// - Parameter atEnd: called once they have ended, unless they were started again meanwhile.
    func stop(_ atEnd: @Sendable () -> Void = {}) async {
        isStarted = false
        network?.end()
        network = nil
        waiting?.cancel()
        waiting = nil
        answering?.cancel()
        answering = nil
        let count = startCount
        stoppingCount += 1
        await stopDrivers()
        stoppingCount -= 1
        if startCount == count { atEnd() }
        giveBackIfIdle()
    }

    /// Stops the drivers; loops that are started again while an earlier one ends are not stopped
    /// here.
    private func stopDrivers() async {
        let count = startCount
        for driver in drivers {
            await driver.stop()
            guard startCount == count else { return }
        }
        await loopsEnd?.value
    }

    /// Ends the drivers that no caller waits for, unless the loop runs.
    func rest() async {
        guard !isStarted, syncCount == 0 else { return }
        for driver in drivers { await driver.rest() }
        await loopsEnd?.value
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
            giveBackAfterLoops()
            throw error
        }
    }

    private func syncOrAsk() async throws {
        if take() { return try await syncDrivers() }
        let number = try file.askForSync()
        let (key, signal) = addSignal()
        defer { signals[key] = nil }
        while true {
            try Task.checkCancellation()
            if let trouble = try file.answerToSync(number) {
                guard trouble.isEmpty else {
                    throw CacheError(
                        .notSynced, "Syncing did not finish; nothing is lost. Sync again later.",
                        failure: SyncFailure(.serviceUnavailable, message: trouble))
                }
                return
            }
            // The other process ended without an answer.
            if take() {
                await absorb()
                return try await syncDrivers()
            }
            await signal.wait(until: world.uptimeSeconds() + Self.lookSeconds, in: world)
        }
    }

    /// Handles a write of another process, or its release of the lock.
    func observeOtherProcess(hasChanges: Bool) async {
        for signal in signals.inOrder { signal.wake() }
        if hasChanges { await absorb() }
        guard isHeld, answering == nil else { return }
        do {
            guard let number = try file.openQuestion() else { return }
            answering = world.startTask("cache answer") { await self.answer(number) }
        } catch {
            // The question stays in the file and is read again after the next commit of another
            // process. Until then its process waits; it syncs itself when this process ends.
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
            try await syncDrivers()
        } catch {
            hasEnded = false
            trouble = "\(error)"
        }
        // If the answer cannot be stored, as on a full disk, the process that asked keeps waiting,
        // as for a slow service, until it gets the lock.
        try? file.answerSync(number, trouble: trouble)
        answering = nil
        syncCount -= 1
        if hasEnded { giveBackIfIdle() } else { giveBackAfterLoops() }
    }

    private func waitForTurn() async {
        let (key, signal) = addSignal()
        defer { signals[key] = nil }
        while !Task.isCancelled, isStarted {
            if take() {
                waiting = nil
                await startDrivers(isAfterOtherProcess: true)
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
        if !isHeld { isHeld = file.lock.take() }
        return isHeld
    }

    /// Gives the lock back once the loops have ended: after an error in one database, or the end of the caller's task,
    /// they continue, and must not write beside another process that syncs.
    private func giveBackAfterLoops() {
        guard isHeld, !isStarted else { return giveBackIfIdle() }
        openEndCount += 1
        loopsEnd = world.startTask("cache turn's end") { await self.awaitLoops() }
    }

    private func awaitLoops() async {
        for driver in drivers { await driver.loopEnd() }
        openEndCount -= 1
        giveBackIfIdle()
    }

    private func giveBackIfIdle() {
        guard isHeld, syncCount == 0, startingCount == 0, stoppingCount == 0 else { return }
        // Loops that were started do not end after such a call.
        guard isStarted ? drivers.allSatisfy({ $0.loopHalt == .waiting }) : openEndCount == 0
        else { return }
        isHeld = false
        file.lock.giveBack()
    }

    /// Sets what the drivers call when a loop halted at the device's own file.
    nonisolated func watchHalts() {
        for driver in drivers {
            driver.haltListener.withLock { listener in
                listener = { [weak self, world] in
                    _ = world.startTask("cache halt") { [weak self] in await self?.loopHalted() }
                }
            }
        }
    }

    /// Gives the lock back once all loops are halted at the device's own file: another process may
    /// be able to use it. When a halt has ended, starts the loops again, in their turn.
    func loopHalted() async {
        if isStarted, drivers.contains(where: { $0.loopHalt == .resumable }) {
            await start()
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
        for driver in drivers {
            await driver.change { session, now in session.networkBecameReachable(at: now) }
        }
    }

    /// Starts the drivers, unless they are stopped meanwhile: a loop that began after that would not
    /// be stopped, and would run without the lock. A later start starts them itself.
    private func startDrivers(isAfterOtherProcess: Bool = false) async {
        let count = startCount
        startingCount += 1
        if isAfterOtherProcess { await absorb() }
        for driver in drivers where isStarted && startCount == count { await driver.start() }
        startingCount -= 1
        // A loop may have halted meanwhile.
        giveBackIfIdle()
    }

    private func absorb() async {
        for driver in drivers { await driver.receiveWriteOfOtherProcess() }
    }

    private func syncDrivers() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for driver in drivers { group.addTask { try await driver.sync() } }
            try await group.waitForAll()
        }
    }
}
