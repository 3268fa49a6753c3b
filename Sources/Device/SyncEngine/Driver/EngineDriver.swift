import Foundation
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// Runs an engine's session: performs its operations, calls the delegate, and stores the outcome in
/// the state.
///
/// Invariants:
/// * Only the holder of the turn calls the delegate or the service, so events are serial. While it
///   waits for the service, the state may be reported; it waits for the end of that.
/// * The delegate gets a page before the state marks it as fetched.
actor EngineDriver {
    nonisolated let database: CKDatabase
    let configuredSubscriptionID: CKSubscription.ID?
    let isAutomatic: Bool
    let state: CKSyncEngine.State
    let world: World
    weak var delegate: (any CKSyncEngineDelegate)?
    var session: SyncSession

    /// The zone for which the delegate got a "will" event but no "did" event yet.
    var openZone: ZoneID?
    var unreadable = UnreadableRecords()
    /// Cancels the current request.
    var cancelRequest: (@Sendable () -> Void)?
    /// The connection's count of account changes when the current request began.
    var requestedAccountChange = 0
    /// The connection's count of account changes when the loop could not look the account up; nil if it could.
    private var failedLookup: Int?
    /// The connection's count of account changes when the account was last looked up; nil before.
    var checkedAccountChange: Int?
    /// ``EngineLedger/additionCount`` as far as the session knows.
    var seenAdditions: Int64 = 0

    private weak var engine: CKSyncEngine?
    private var isBusy = false
    private var turnQueue: [CheckedContinuation<Void, Never>] = []
    private var roundCount = 0
    /// Calls and passes of the loop that are running or wait for their turn.
    private(set) var openRounds: Set<Int> = []
    private var cancelledRounds: Set<Int> = []
    private(set) var currentRound: Int?
    private var loopTask: Task<Void, Never>?
    private var hintTask: Task<Void, Never>?
    private var accountObserver: (any NSObjectProtocol)?
    private let pause = WakeSignal()
    private var willDeliverState = false
    /// Whether the holder of the turn waits for the service, and does not call the delegate.
    private var isAsking = false
    /// Whether the state is reported during a request.
    private var isReporting = false
    private var reportEnd: CheckedContinuation<Void, Never>?
    private var isStopped = false
    /// The task that is calling the delegate.
    private nonisolated let tellingTask = Mutex<Int?>(nil)

    init(_ configuration: CKSyncEngine.Configuration, state: CKSyncEngine.State) {
        database = configuration.database
        configuredSubscriptionID = configuration.subscriptionID
        isAutomatic = configuration.automaticallySync
        delegate = configuration.delegate
        self.state = state
        world = configuration.database.container.connection.world
        let ledger = state.ledger
        var settings = SyncSettings.engine
        settings.savesSubscription = configuration.automaticallySync
        session = SyncSession(
            settings: settings,
            backlog: SyncBacklog(
                zonesToFetch: ledger.zonesOfNewEngine,
                isSubscriptionSaved: ledger.subscriptionID != nil
                    && configuration.subscriptionID.map { $0 == ledger.subscriptionID } ?? true,
                hasPendingChanges: ledger.hasRecordChanges))
    }

    var now: Double { world.uptimeSeconds() }

    /// The store's history; also nil for Apple's service, which does not report what it lost.
    var history: (any ServiceHistory)? {
        database.container.connection.isAppleService ? nil : state.history
    }

    // MARK: Life

    func start(for engine: CKSyncEngine) {
        guard !isStopped else { return }
        self.engine = engine
        accountObserver = NotificationCenter.default.addObserver(
            forName: .CKAccountChanged, object: database.container.connection, queue: nil
        ) { [weak self] _ in
            guard let self else { return }
            _ = self.world.startTask("account change") { await self.accountMayHaveChanged() }
        }
        if isAutomatic {
            loopTask = world.startTask("engine loop") { await self.loop() }
            hintTask = world.startTask("engine hints") { await self.listen() }
        }
    }

    func stop() {
        isStopped = true
        if let accountObserver { NotificationCenter.default.removeObserver(accountObserver) }
        accountObserver = nil
        hintTask?.cancel()
        loopTask?.cancel()
        cancelRequest?()
        pause.wake()
    }

    // MARK: Turns

    private func takeTurn() async {
        guard isBusy else {
            isBusy = true
            return
        }
        await withCheckedContinuation { turnQueue.append($0) }
    }

    private func giveTurn() {
        if turnQueue.isEmpty {
            isBusy = false
        } else {
            turnQueue.removeFirst().resume()
        }
    }

    /// Runs work that the app requested when its turn comes. It is cancelled with its caller.
    func run(
        for engine: CKSyncEngine,
        _ body: @escaping @Sendable (isolated EngineDriver, CKSyncEngine) async throws -> Void
    ) async throws {
        // Not in the caller's task, so that cancelling the caller does not cancel the delegate's
        // work.
        roundCount += 1
        let round = roundCount
        openRounds.insert(round)
        let task = WorldTask("engine turn", in: world) {
            try await self.turn(round, engine, body)
        }
        try await withTaskCancellationHandler {
            try await task.result.get()
        } onCancel: {
            _ = self.world.startTask("cancelled turn") { await self.cancel([round]) }
        }
    }

    private func turn(
        _ round: Int, _ engine: CKSyncEngine,
        _ body: @Sendable (isolated EngineDriver, CKSyncEngine) async throws -> Void
    ) async throws {
        await takeTurn()
        currentRound = round
        defer {
            currentRound = nil
            openRounds.remove(round)
            cancelledRounds.remove(round)
            giveTurn()
            pause.wake()
        }
        try checkCancellation()
        await deliverState(engine)
        try await body(self, engine)
    }

    /// Whether the current round was cancelled.
    var isCancelled: Bool { currentRound.map { cancelledRounds.contains($0) } ?? false }

    func checkCancellation() throws {
        if isCancelled { throw CKError(.operationCancelled, "The sync was cancelled.") }
    }

    /// Whether this device cancelled a request, which is not a failure of the service. Any other
    /// cancellation counts as a failure, because otherwise the loop would repeat it without a
    /// pause.
    func isGivenUp(_ error: CKError) -> Bool {
        error.code == .operationCancelled && (isCancelled || isStopped || !isAccountKnown)
    }

    func cancelOperations() { cancel(openRounds) }

    private func cancel(_ rounds: Set<Int>) {
        cancelledRounds.formUnion(rounds.intersection(openRounds))
        guard isCancelled else { return }
        cancelRequest?()
        // Earlier wake-ups must not start the loop again.
        pause.forget()
    }

    // MARK: The delegate

    /// Ends the process if the call would deadlock.
    nonisolated func checkCaller() {
        let caller = withUnsafeCurrentTask { $0?.hashValue }
        let telling = tellingTask.withLock { $0 }
        precondition(
            caller == nil || caller != telling,
            "fetchChanges or sendChanges is called in a method of the delegate, and would wait for"
                + " itself; call it after the method has returned.")
    }

    /// Calls the delegate; nil when it was released.
    func askDelegate<Answer: Sendable>(
        _ body: (any CKSyncEngineDelegate) async -> Answer
    ) async -> Answer? {
        guard let delegate else { return nil }
        let task = withUnsafeCurrentTask { $0?.hashValue }
        tellingTask.withLock { $0 = task }
        defer { tellingTask.withLock { $0 = nil } }
        return await body(delegate)
    }

    func deliver(_ event: CKSyncEngine.Event, _ engine: CKSyncEngine) async {
        _ = await askDelegate { await $0.handleEvent(event, syncEngine: engine) }
    }

    /// Reports the state to the app, if it changed since the last report.
    func deliverState(_ engine: CKSyncEngine) async {
        guard let serialization = state.takeUnreported() else { return }
        await deliver(.stateUpdate(.init(stateSerialization: serialization)), engine)
    }

    /// Reports a change that the app made in a call of the delegate, before the next request, which may take long.
    func reportAppChange() async {
        if state.hasUnreportedAppChange, let engine { await deliverState(engine) }
    }

    /// Handles a change of the state by the app: the loop reports it and sends the new changes.
    /// Without a loop, and during a request, changes within a tenth of a second are reported together.
    func appChangedState() {
        pause.wake()
        guard !isAutomatic || isAsking, !willDeliverState, !isStopped else { return }
        willDeliverState = true
        _ = world.startTask("state report") { await self.reportAppChanges() }
    }

    private func reportAppChanges() async {
        // The sleep ends early only when the process ends; the state is reported nevertheless.
        try? await world.sleep(SyncSettings.engine.coalescingSeconds)
        willDeliverState = false
        if isAsking, !isReporting { return await reportDuringRequest() }
        await takeTurn()
        if let engine { await deliverState(engine) }
        giveTurn()
    }

    /// Reports the state during a request, which may take long: the process may end before its answer.
    private func reportDuringRequest() async {
        isReporting = true
        if let engine { await deliverState(engine) }
        isReporting = false
        reportEnd?.resume()
        reportEnd = nil
    }

    /// Waits for the service; meanwhile the state may be reported.
    func answer<Answer: Sendable>(
        of request: WorldTask<Answer>
    ) async -> Result<Answer, any Error> {
        isAsking = true
        // Made since `reportAppChange()`.
        if state.hasUnreportedAppChange { appChangedState() }
        let answer = await request.result
        isAsking = false
        // Another call of the delegate must not begin before this one ends.
        if isReporting { await withCheckedContinuation { reportEnd = $0 } }
        return answer
    }

    // MARK: External events

    private func accountMayHaveChanged() async {
        guard !isAccountKnown else { return }
        session.accountChanged(at: now)
        // Does not cancel a request that is already the new account's.
        if requestedAccountChange != accountChangeCount { cancelRequest?() }
        guard !isAutomatic, let engine else { return pause.wake() }
        await takeTurn()
        // If the lookup fails it is repeated before the next fetch or send, which then throws its
        // error.
        _ = try? await checkAccount(engine)
        giveTurn()
    }

    private func listen() async {
        guard let identifier = database.container.containerIdentifier else { return }
        let events = database.container.connection.remoteNotifications(container: identifier)
        for await event in events {
            switch event {
            case .listening: session.notified()
            case .notification(let notification):
                let hint = CKNotification(fromRemoteNotificationDictionary: notification.userInfo)
                    .flatMap { database.hint(of: $0) }
                guard let hint else { continue }
                session.notified(of: hint.zone)
            }
            notified()
        }
    }

    /// Schedules a fetch of a zone, or of the database.
    func fetchSoon(_ zone: ZoneID?) {
        session.notified(of: zone)
        notified()
    }

    private func notified() {
        session.fetchScope = FetchScope()
        noteZonesToFetch()
        pause.wake()
    }

    func noteZonesToFetch() {
        let zones = session.zonesToFetch
        if zones != state.ledger.zonesToFetch { state.update { $0.zonesToFetch = zones } }
    }

    // MARK: The loop

    private enum Pause {
        case none
        case until(Double?)
    }

    private func loop() async {
        while !Task.isCancelled, engine != nil, delegate != nil {
            guard case .until(let uptimeSeconds) = await pass() else { continue }
            if Task.isCancelled { return }
            await pause.wait(
                until: uptimeSeconds, in: world)
        }
    }

    /// Performs one round of the work that is due.
    private func pass() async -> Pause {
        await takeTurn()
        roundCount += 1
        let round = roundCount
        currentRound = round
        openRounds.insert(round)
        defer {
            currentRound = nil
            openRounds.remove(round)
            cancelledRounds.remove(round)
            giveTurn()
        }
        guard let engine, delegate != nil else { return .until(nil) }
        await deliverState(engine)
        let accountChange = accountChangeCount
        // A new change does not end the pause after a failed lookup; a new account does.
        if failedLookup == accountChange, case .wait(let uptimeSeconds) = session.preview(at: now) {
            return .until(uptimeSeconds)
        }
        failedLookup = nil
        do {
            guard try await checkAccount(engine) else { return .until(nil) }
        } catch {
            if isCancelled { return .until(nextOccasion) }
            // The account changed meanwhile: the new one is looked up at once.
            if accountChange != accountChangeCount { return .none }
            failedLookup = accountChange
            _ = session.failed(SyncFailure(CKError(error)), at: now)
        }
        absorbChanges()
        switch session.preview(at: now) {
        case .perform(let operation):
            await perform(operation, engine)
            await deliverState(engine)
            return isCancelled ? .until(nextOccasion) : .none
        case .wait(let uptimeSeconds): return .until(uptimeSeconds)
        case .rest(let uptimeSeconds): return .until(uptimeSeconds)
        case .halted: return .until(nil)
        }
    }

    /// When cancelled work begins again by itself.
    private var nextOccasion: Double? {
        session.nextFetchUptimeSeconds ?? session.settings.fetchIntervalSeconds.map { now + $0 }
    }

    private func perform(_ operation: SyncOperation, _ engine: CKSyncEngine) async {
        // The rounds report failures to the delegate, and the session decides when to retry.
        switch operation.activity {
        case .fetching:
            _ = await fetch(
                CKSyncEngine.FetchChangesContext(reason: .scheduled, options: .init()), engine)
        case .sending:
            _ = await send(
                CKSyncEngine.SendChangesContext(reason: .scheduled, options: .init()), engine)
        case nil:
            guard case .perform = session.next(at: now) else { return }
            await saveSubscription()
        }
    }
}
