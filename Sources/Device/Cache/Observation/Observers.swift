import StratusClient
import StratusRecords
import Synchronization

/// The observers of a cache.
final class Observers: Sendable {
    /// How many events are kept for a slow observer; the oldest are dropped.
    static let eventsPerObserver = 1_000

    private struct ChangeObserver {
        var scope: CKDatabase.Scope
        var box: ChangeBox
        var wake: AsyncStream<Void>.Continuation
    }

    private struct State {
        var nextKey = 0
        var changes: [Int: ChangeObserver] = [:]
        var events: [Int: AsyncStream<CacheEvent>.Continuation] = [:]
        var reports: [Int: AsyncStream<Void>.Continuation] = [:]
        var statuses: [Int: AsyncStream<Void>.Continuation] = [:]
        var rows: [Int: (notes: RowNotes, wake: AsyncStream<Void>.Continuation)] = [:]
        var isFinished = false
    }

    private let state = Mutex(State())
    private let afterwards = Mutex<(@Sendable () -> Void)?>(nil)
    private let atRest = Mutex<(@Sendable (_ hasChanges: Bool) -> Void)?>(nil)

    /// Sets a body that runs after each transaction, whether or not observers are notified.
    func afterwards(_ body: @escaping @Sendable () -> Void) { afterwards.withLock { $0 = body } }

    /// Sets a body that runs when a running loop of a database has nothing left to do.
    ///
    /// - Parameter body: called with whether anything was fetched since it last ran for that
    ///   database.
    func atRest(_ body: @escaping @Sendable (_ hasChanges: Bool) -> Void) {
        atRest.withLock { $0 = body }
    }

    func notifyRest(hasChanges: Bool) { atRest.withLock { $0 }?(hasChanges) }

    func changes<ID>(
        in scope: CKDatabase.Scope, _ makeID: @escaping @Sendable (RecordID) -> ID
    ) -> RecordChanges<ID> {
        let box = ChangeBox()
        let wakes = add(\.changes) { ChangeObserver(scope: scope, box: box, wake: $0) }
        return RecordChanges(box: box, wakes: wakes, makeID: makeID)
    }

    func events() -> AsyncStream<CacheEvent> {
        add(\.events, keeping: Self.eventsPerObserver) { $0 }
    }

    /// Wakes readers of reports when there may be new ones.
    func reportWakes() -> AsyncStream<Void> { add(\.reports) { $0 } }

    /// Wakes readers of the status when it may have changed.
    func statusWakes() -> AsyncStream<Void> { add(\.statuses) { $0 } }

    /// Notes the changes that concern an observer of records, and wakes it, as long as it reads the stream.
    func watch(
        _ interest: RowNotes.Interest, in scope: CKDatabase.Scope
    ) -> (notes: RowNotes, wakes: AsyncStream<Void>) {
        let notes = RowNotes(interest, in: scope)
        return (notes, add(\.rows) { (notes, $0) })
    }

    /// A stream for one observer, which is registered until the stream ends; if the cache is
    /// closed, the stream has ended.
    private func add<Element: Sendable, Observer: Sendable>(
        _ observers: WritableKeyPath<State, [Int: Observer]> & Sendable, keeping limit: Int = 1,
        _ makeObserver: (AsyncStream<Element>.Continuation) -> Observer
    ) -> AsyncStream<Element> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Element.self, bufferingPolicy: .bufferingNewest(limit))
        let observer = makeObserver(continuation)
        let key = state.withLock { state -> Int? in
            guard !state.isFinished else { return nil }
            state.nextKey += 1
            state[keyPath: observers][state.nextKey] = observer
            return state.nextKey
        }
        guard let key else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0[keyPath: observers].removeValue(forKey: key) }
        }
        return stream
    }

    func wakeStatusReaders() {
        for reader in state.withLock({ $0.statuses.inOrder }) { reader.yield() }
    }

    /// How many observers of records there are.
    var rowObserverCount: Int { state.withLock { $0.rows.count } }

    private func notifyRowObservers(_ outcome: CacheOutcome) {
        guard outcome.isWhole || !outcome.rows.isEmpty || outcome.fetched != nil else { return }
        for observer in state.withLock({ $0.rows.inOrder }) where observer.notes.add(outcome) {
            observer.wake.yield()
        }
    }

    func wakeReportReaders() {
        for reader in state.withLock({ $0.reports.inOrder }) { reader.yield() }
    }

    func notify(_ outcome: CacheOutcome) {
        defer { afterwards.withLock { $0 }?() }
        notifyRowObservers(outcome)
        guard !outcome.changedIDs.isEmpty || !outcome.events.isEmpty else { return }
        // Woken outside the lock, because an observer may read at once.
        let (changes, events) = state.withLock {
            ($0.changes.inOrder, $0.events.inOrder)
        }
        if !outcome.changedIDs.isEmpty {
            for observer in changes where observer.scope == outcome.scope {
                observer.box.add(outcome.changedIDs)
                observer.wake.yield()
            }
        }
        if !outcome.events.isEmpty { wakeReportReaders() }
        wakeStatusReaders()
        for event in outcome.events {
            for observer in events { observer.yield(event) }
        }
    }

    func finish() {
        let state = state.withLock { state in
            defer {
                state.changes = [:]
                state.events = [:]
                state.reports = [:]
                state.statuses = [:]
                state.rows = [:]
                state.isFinished = true
            }
            return state
        }
        for observer in state.changes.inOrder { observer.wake.finish() }
        for observer in state.events.inOrder { observer.finish() }
        for reader in state.reports.inOrder { reader.finish() }
        for reader in state.statuses.inOrder { reader.finish() }
        for observer in state.rows.inOrder { observer.wake.finish() }
    }
}

extension Dictionary where Key == Int {
    /// In the order of their numbers, so that a repeated simulation runs the same way.
    var inOrder: [Value] { sorted { $0.key < $1.key }.map(\.value) }
}
