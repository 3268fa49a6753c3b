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
        var isFinished = false
    }

    private let state = Mutex(State())

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

    func wakeReportReaders() {
        for reader in state.withLock({ Array($0.reports.values) }) { reader.yield() }
    }

    func tell(_ outcome: CacheOutcome) {
        guard !outcome.changedIDs.isEmpty || !outcome.events.isEmpty else { return }
        // Woken outside the lock: whoever wakes may look at once.
        let (changes, events) = state.withLock {
            (Array($0.changes.values), Array($0.events.values))
        }
        if !outcome.changedIDs.isEmpty {
            for observer in changes where observer.scope == outcome.scope {
                observer.box.add(outcome.changedIDs)
                observer.wake.yield()
            }
        }
        if !outcome.events.isEmpty { wakeReportReaders() }
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
                state.isFinished = true
            }
            return state
        }
        for observer in state.changes.values { observer.wake.finish() }
        for observer in state.events.values { observer.finish() }
        for reader in state.reports.values { reader.finish() }
    }
}
