import StratusRecords
import StratusRuntime
import StratusSchema
import StratusStorage
import StratusWire
import Synchronization

/// Notifies devices of what was saved: reads the outbox after the commit, matches subscriptions, and
/// hands notifications to the devices' channels.
///
/// A notification is a hint. The events of a database are dispatched in rounds, one right after the other, so no user's
/// save delays another's; notifications that would reach a device too often are gathered only for that device
/// (``NotificationCoalescing``). A failed round is repeated after 1 s, doubled up to 60 s. Rows leave the outbox with
/// the next save, in its transaction, or after ten quiet seconds; after a crash some are dispatched twice, with the
/// same notification identifiers, and none is lost.
final class Notifications: Sendable {
    let storage: any StorageEngine
    let settings: ServiceSettings
    let subscriptions: SubscriptionCache
    let schemas: SchemaCache
    let devices: Devices
    /// Also logs damaged rows, which the storage does not.
    let errors: ErrorTranslation
    /// Limits how often the devices' channels are used.
    let coalescing: NotificationCoalescing

    private let state = Mutex(State())

    /// Seconds after which dispatched rows are removed if no save removed them.
    static let quietSeconds: Double = 10

    fileprivate struct State {
        /// How far the outboxes of recently used databases are dispatched.
        var cursors: [DatabaseAddress: Cursor] = [:]
        var runs: [DatabaseAddress: Run] = [:]
        var isSweeping = false
        /// Whether every database was searched for events that a crash left behind.
        var hasRecovered = false
    }

    /// The dispatch of one database's events: a round, or the pause after a failed one.
    fileprivate struct Run {
        var store: any RecordStore
        var round: Task<Void, Never>?
        var rest: Task<Void, Never>?
        /// Whether there are events that the current round does not include.
        var hasMore = false
        /// How many rounds in a row had more events than one read brings.
        var backlogRounds = 0
        /// When the oldest event that is not dispatched was noticed, on the monotonic clock.
        var since: Double?
        var backoff = Backoff(firstSeconds: 1, longestSeconds: 60)
    }

    init(
        storage: any StorageEngine, settings: ServiceSettings, subscriptions: SubscriptionCache,
        schemas: SchemaCache, devices: Devices, errors: ErrorTranslation,
        deliver: @escaping @Sendable ([Delivery]) async -> Void
    ) {
        self.storage = storage
        self.settings = settings
        self.subscriptions = subscriptions
        self.schemas = schemas
        self.devices = devices
        self.errors = errors
        coalescing = NotificationCoalescing(
            limits: settings.limits, world: settings.world, deliver: deliver)
    }

    func cursor(of address: DatabaseAddress) -> Cursor {
        defer { sweep() }
        return state.withLock { $0.cursor(of: address) }
    }

    /// How many databases are remembered. Only tests read it: no answer shows that idle ones are forgotten.
    var remembered: Int { state.withLock { $0.cursors.count + $0.runs.count } }

    /// Whether a round is under way or will be tried again. Only tests read it: ``waitUntilIdle()`` also sends what is
    /// held back.
    var isDispatching: Bool { state.withLock { !$0.runs.isEmpty } }

    /// The age of the oldest event that is not dispatched, in whole seconds.
    var oldestSeconds: Int {
        let oldest = state.withLock { $0.runs.values.compactMap { $0.since }.min() }
        return oldest.map { Int(settings.world.uptimeSeconds() - $0) } ?? 0
    }

    // MARK: Rounds

    /// Starts to dispatch the events of a database, unless that is running already.
    func dispatch(_ store: any RecordStore) {
        let now = settings.world.uptimeSeconds()
        state.withLock { state in
            if let run = state.runs[store.address] {
                state.runs[store.address]?.hasMore = true
                state.runs[store.address]?.since = run.since ?? now
            } else {
                state.runs[store.address] = Run(
                    store: store, round: round(of: store, backlogRounds: 0), since: now)
            }
        }
    }

    /// Returns when no event waits to be dispatched, except for failed ones that will be tried again.
    func waitUntilIdle() async {
        while let step = state.withLock({ $0.nextStep() }) ?? coalescing.nextStep() {
            await step.value
        }
    }

    private func round(
        of store: any RecordStore, backlogRounds: Int
    ) -> Task<Void, Never> {
        settings.world.startTask("outbox dispatch") { [self] in
            var failure: (any Error)?
            var round = OutboxDispatch(
                self, of: store, cursor: cursor(of: store.address), backlogRounds: backlogRounds)
            do {
                try await round.run()
            } catch {
                failure = error
                // The storage has reported a damaged file already.
                let isKnown = (error as? StorageError)?.database != nil
                settings.logger.log(
                    level: isKnown ? .debug : .warning,
                    "Notifications could not be dispatched; they are tried again.",
                    metadata: ["database": "\(store.address)", "type": "\(type(of: error))"])
            }
            // A closed store never opens again in this process; its outbox is dispatched at the next start.
            let isClosed = (failure as? StorageError)?.code == .closed
            end(
                of: store.address, hasFailed: failure != nil, isLast: isClosed,
                backlogRounds: round.backlogRounds)
            sweep()
        }
    }

    /// Ends a round: the next one follows immediately if there are more events, and later if this one failed.
    private func end(
        of address: DatabaseAddress, hasFailed: Bool, isLast: Bool, backlogRounds: Int
    ) {
        let now = settings.world.uptimeSeconds()
        state.withLock { state in
            guard var run = state.runs[address], !isLast, hasFailed || run.hasMore else {
                state.runs[address] = nil
                return
            }
            run.hasMore = hasFailed
            run.backlogRounds = backlogRounds
            run.round = nil
            if hasFailed {
                run.rest = rest(of: address, seconds: run.backoff.nextSeconds())
            } else {
                run.backoff.reset()
                // Events that came during the round have waited since then at most.
                run.since = now
                run.round = round(of: run.store, backlogRounds: backlogRounds)
            }
            state.runs[address] = run
        }
    }

    private func rest(of address: DatabaseAddress, seconds: Double) -> Task<Void, Never> {
        settings.world.startTask("outbox rest") { [self] in
            // Nothing cancels this sleep; if it throws, the next attempt is only earlier.
            try? await settings.world.sleep(seconds)
            state.withLock { state in
                guard var run = state.runs[address] else { return }
                run.rest = nil
                run.hasMore = false
                run.round = round(of: run.store, backlogRounds: run.backlogRounds)
                state.runs[address] = run
            }
        }
    }

    // MARK: What was left

    /// Dispatches the outbox at a database's first use: a crash may have left events there.
    func dispatchPending(of store: any RecordStore) {
        let isNew = state.withLock { state in
            guard !state.hasRecovered, state.cursors[store.address] == nil else { return false }
            _ = state.cursor(of: store.address)
            return true
        }
        if isNew { dispatch(store) }
    }

    /// Dispatches what is in the outboxes of all databases, one after the other.
    func dispatchPending() async throws {
        for address in try await storage.databases() {
            try Task.checkCancellation()
            do {
                dispatchPending(of: try await storage.store(for: address))
            } catch let error as StorageError where error.database != nil {
                // The storage has reported the damaged file. The outbox is dispatched at the database's first use.
                continue
            }
            let round = state.withLock { $0.runs[address]?.round }
            await round?.value
        }
        state.withLock { $0.hasRecovered = true }
    }

    // MARK: Clearing the outboxes

    /// Starts to clear outboxes that no save clears, unless that is running.
    private func sweep() {
        let isNeeded = state.withLock { state in
            defer { state.isSweeping = true }
            return !state.isSweeping
        }
        guard isNeeded else { return }
        // Not held meanwhile: a service that nothing uses ends, and its databases with it.
        _ = settings.world.startTask("outbox sweep") { [weak self, world = settings.world] in
            while true {
                // Nothing cancels this sleep; if it throws, the outboxes are only cleared earlier.
                try? await world.sleep(Self.quietSeconds)
                guard let self else { return }
                await clearOutboxes()
                let isDone = state.withLock { state in
                    guard state.cursors.isEmpty, state.runs.isEmpty else { return false }
                    state.isSweeping = false
                    return true
                }
                if isDone { return }
            }
        }
    }

    /// Removes dispatched rows from the outboxes, and forgets the databases that are quiet.
    func clearOutboxes() async {
        let quiet = state.withLock { state in
            state.cursors.filter { state.runs[$0.key]?.round == nil }
        }
        for (address, cursor) in quiet {
            var isClosed = false
            do {
                if cursor.hasLeft {
                    let store = try await storage.store(for: address)
                    try await store.write { writer in
                        if let through = cursor.takeLeft() { try writer.dequeue(through: through) }
                    }
                }
            } catch {
                // The rows stay and nothing is lost: a later save removes them, or they are dispatched again at the
                // next start.
                isClosed = (error as? StorageError)?.code == .closed
                settings.logger.debug(
                    "A database's outbox could not be cleared; a later save or the next start clears it.",
                    metadata: ["database": "\(address)", "error": "\(String(reflecting: error))"])
            }
            state.withLock { state in
                guard state.runs[address]?.round == nil, isClosed || !cursor.hasLeft else { return }
                state.cursors[address] = nil
            }
        }
    }
}

extension Notifications.State {
    fileprivate mutating func cursor(of address: DatabaseAddress) -> Notifications.Cursor {
        if let known = cursors[address] { return known }
        let new = Notifications.Cursor()
        cursors[address] = new
        return new
    }

    /// The task to wait for until all events are dispatched, except those whose dispatch failed.
    fileprivate func nextStep() -> Task<Void, Never>? {
        runs.values.lazy.compactMap(\.round).first
    }
}

extension Notifications {
    /// How far a database's outbox was dispatched.
    final class Cursor: Sendable {
        private let numbers = Mutex((dispatched: Int64(0), dequeued: Int64(0)))

        var through: Int64 { numbers.withLock { $0.dispatched } }

        /// Whether something that was dispatched is still stored in the outbox.
        var hasLeft: Bool { numbers.withLock { $0.dispatched > $0.dequeued } }

        func advance(through identifier: Int64) {
            numbers.withLock { $0.dispatched = max($0.dispatched, identifier) }
        }

        /// The last event that was dispatched, for a transaction that removes the rows through it; nil when none are
        /// left.
        ///
        /// If the transaction is rolled back, the rows stay until one with a later number removes them.
        func takeLeft() -> Int64? {
            numbers.withLock { numbers in
                guard numbers.dispatched > numbers.dequeued else { return nil }
                numbers.dequeued = numbers.dispatched
                return numbers.dispatched
            }
        }
    }
}
