import StratusRuntime
import StratusSync
import Synchronization

/// Whose turn it is to sync a file: the process that holds its lock. The others wait for theirs.
actor SyncTurn {
    /// How long to wait for the lock without hearing anything, in seconds: a process that was killed tells
    /// nobody on some systems.
    private static let lookSeconds: Double = 5
    /// What the system says of the network counts once in this many seconds.
    private static let networkSeconds: Double = 1

    let file: CacheFile
    let drivers: [SyncDriver]
    let world: World
    private var isStarted = false
    private var isHeld = false
    private var syncCount = 0
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
    var isWaiting: Bool { isStarted && !isHeld }

    func start() async {
        isStarted = true
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

    func stop() async {
        isStarted = false
        network?.end()
        network = nil
        waiting?.cancel()
        waiting = nil
        answering?.cancel()
        answering = nil
        for driver in drivers { await driver.stop() }
        giveBackIfIdle()
    }

    /// Ends what nobody waits for any more, unless the loop runs.
    func rest() async {
        guard !isStarted, syncCount == 0 else { return }
        for driver in drivers { await driver.rest() }
        giveBackIfIdle()
    }

    /// Syncs, or lets the process sync whose turn it is.
    func sync() async throws {
        syncCount += 1
        defer {
            syncCount -= 1
            giveBackIfIdle()
        }
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
            // The other one ended without an answer.
            if take() {
                await absorb()
                return try await syncDrivers()
            }
            await signal.wait(until: world.uptimeSeconds() + Self.lookSeconds, in: world)
        }
    }

    /// Another process wrote into the file, or let go of it.
    func heardOfOthers(hasChanges: Bool) async {
        for signal in signals.inOrder { signal.wake() }
        if hasChanges { await absorb() }
        guard isHeld, answering == nil else { return }
        do {
            guard let number = try file.openQuestion() else { return }
            answering = world.startTask("cache answer") { await self.answer(number) }
        } catch {
            // Who asked asks again, or takes over when this process ends.
            return
        }
    }

    private func answer(_ number: Int64) async {
        syncCount += 1
        var trouble = ""
        do {
            try await syncDrivers()
        } catch {
            trouble = "\(error)"
        }
        // Without room for the answer whoever asked goes on waiting, as for a slow service.
        try? file.answerSync(number, trouble: trouble)
        answering = nil
        syncCount -= 1
        giveBackIfIdle()
    }

    private func waitForTurn() async {
        let (key, signal) = addSignal()
        defer { signals[key] = nil }
        while !Task.isCancelled, isStarted {
            if take() {
                waiting = nil
                await absorb()
                await startDrivers()
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

    private func giveBackIfIdle() {
        guard isHeld, !isStarted, syncCount == 0 else { return }
        isHeld = false
        file.lock.giveBack()
    }

    /// The system has a link, an address or a route that it had not. Often many come at once.
    func networkCame() async {
        guard isStarted, world.uptimeSeconds() >= networkUptimeSeconds + Self.networkSeconds else {
            return
        }
        networkUptimeSeconds = world.uptimeSeconds()
        for driver in drivers {
            await driver.change { session, now in session.networkBecameReachable(at: now) }
        }
    }

    private func startDrivers() async {
        for driver in drivers { await driver.start() }
    }

    private func absorb() async {
        for driver in drivers { await driver.heardOfOtherProcess() }
    }

    private func syncDrivers() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for driver in drivers { group.addTask { try await driver.sync() } }
            try await group.waitForAll()
        }
    }
}
