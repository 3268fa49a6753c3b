import StratusClient
import StratusRecords
import Synchronization

/// The identities of records as they change, merged while nobody looks: a slow observer gets one large
/// set, never a queue of small ones.
///
/// ```swift
/// for await ids in cache.changes() { redraw(ids) }
/// ```
public struct RecordChanges<ID: Hashable & Sendable>: AsyncSequence, Sendable {
    public typealias Element = Set<ID>
    public typealias Failure = Never

    let box: ChangeBox
    let wakes: AsyncStream<Void>
    let makeID: @Sendable (RecordID) -> ID

    /// What changed since somebody last looked, without waiting; empty when nothing did.
    ///
    /// For an actor that iterates and, after a sync, wants to be up to date at once.
    public func takeUnseen() -> Set<ID> { Set(box.take().map(makeID)) }

    public func makeAsyncIterator() -> Iterator {
        Iterator(box: box, makeID: makeID, wakes: wakes.makeAsyncIterator())
    }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let box: ChangeBox
        fileprivate let makeID: @Sendable (RecordID) -> ID
        fileprivate var wakes: AsyncStream<Void>.Iterator

        public mutating func next() async -> Set<ID>? {
            await next(isolation: nil)
        }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Set<ID>? {
            while true {
                let changed = box.take()
                if !changed.isEmpty { return Set(changed.map(makeID)) }
                guard await wakes.next(isolation: actor) != nil else {
                    let last = box.take()
                    return last.isEmpty ? nil : Set(last.map(makeID))
                }
            }
        }
    }
}

/// What changed since an observer last looked.
final class ChangeBox: Sendable {
    private let changed = Mutex<Set<RecordID>>([])

    func add(_ ids: Set<RecordID>) { changed.withLock { $0.formUnion(ids) } }

    func take() -> Set<RecordID> {
        changed.withLock { changed in
            defer { changed = [] }
            return changed
        }
    }
}

/// Everybody who looks at a cache.
final class Observers: Sendable {
    /// Events kept for an observer that does not look; the oldest give way.
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

    /// Runs a body after each transaction, told or not.
    func afterwards(_ body: @escaping @Sendable () -> Void) { afterwards.withLock { $0 = body } }

    /// Runs a body when a running loop of a database has nothing left to do.
    ///
    /// - Parameter body: gets whether the service brought anything since it last ran for that database.
    func atRest(_ body: @escaping @Sendable (_ hasChanges: Bool) -> Void) {
        atRest.withLock { $0 = body }
    }

    func tellRest(hasChanges: Bool) { atRest.withLock { $0 }?(hasChanges) }

    func changes<ID>(
        in scope: CKDatabase.Scope, _ makeID: @escaping @Sendable (RecordID) -> ID
    ) -> RecordChanges<ID> {
        let box = ChangeBox()
        let (wakes, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let key = state.withLock { state in
            state.nextKey += 1
            if !state.isFinished {
                state.changes[state.nextKey] = ChangeObserver(
                    scope: scope, box: box, wake: continuation)
            }
            return state.isFinished ? nil : state.nextKey
        }
        guard let key else {
            continuation.finish()
            return RecordChanges(box: box, wakes: wakes, makeID: makeID)
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.changes.removeValue(forKey: key) }
        }
        return RecordChanges(box: box, wakes: wakes, makeID: makeID)
    }

    func events() -> AsyncStream<CacheEvent> {
        let (events, continuation) = AsyncStream.makeStream(
            of: CacheEvent.self, bufferingPolicy: .bufferingNewest(Self.eventsPerObserver))
        let key = state.withLock { state in
            state.nextKey += 1
            if !state.isFinished { state.events[state.nextKey] = continuation }
            return state.isFinished ? nil : state.nextKey
        }
        guard let key else {
            continuation.finish()
            return events
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.events.removeValue(forKey: key) }
        }
        return events
    }

    /// Wakes whoever reads reports, when there may be new ones.
    func reportWakes() -> AsyncStream<Void> {
        let (wakes, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let key = state.withLock { state in
            state.nextKey += 1
            if !state.isFinished { state.reports[state.nextKey] = continuation }
            return state.isFinished ? nil : state.nextKey
        }
        guard let key else {
            continuation.finish()
            return wakes
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.reports.removeValue(forKey: key) }
        }
        return wakes
    }

    /// Wakes whoever follows the status, when it may be another one.
    func statusWakes() -> AsyncStream<Void> {
        let (wakes, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let key = state.withLock { state in
            state.nextKey += 1
            if !state.isFinished { state.statuses[state.nextKey] = continuation }
            return state.isFinished ? nil : state.nextKey
        }
        guard let key else {
            continuation.finish()
            return wakes
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.statuses.removeValue(forKey: key) }
        }
        return wakes
    }

    func wakeStatusReaders() {
        for reader in state.withLock({ $0.statuses.inOrder }) { reader.yield() }
    }

    /// Notes what concerns an observer of records, and wakes it, as long as it looks at the stream.
    func watch(
        _ interest: RowNotes.Interest, in scope: CKDatabase.Scope
    ) -> (notes: RowNotes, wakes: AsyncStream<Void>) {
        let notes = RowNotes(interest, in: scope)
        let (wakes, continuation) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let key = state.withLock { state in
            state.nextKey += 1
            if !state.isFinished { state.rows[state.nextKey] = (notes, continuation) }
            return state.isFinished ? nil : state.nextKey
        }
        guard let key else {
            continuation.finish()
            return (notes, wakes)
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.rows.removeValue(forKey: key) }
        }
        return (notes, wakes)
    }

    /// How many observers of records there are.
    var rowObserverCount: Int { state.withLock { $0.rows.count } }

    private func tellRowObservers(_ outcome: CacheOutcome) {
        guard outcome.isWhole || !outcome.rows.isEmpty else { return }
        for observer in state.withLock({ $0.rows.inOrder }) where observer.notes.add(outcome) {
            observer.wake.yield()
        }
    }

    func wakeReportReaders() {
        for reader in state.withLock({ $0.reports.inOrder }) { reader.yield() }
    }

    func tell(_ outcome: CacheOutcome) {
        defer { afterwards.withLock { $0 }?() }
        tellRowObservers(outcome)
        guard !outcome.changedIDs.isEmpty || !outcome.events.isEmpty else { return }
        // Woken outside the lock: whoever wakes may look at once.
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
    /// In the order of their numbers: a run that is repeated is the same one.
    var inOrder: [Value] { sorted { $0.key < $1.key }.map(\.value) }
}
