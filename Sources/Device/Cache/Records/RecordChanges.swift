import StratusClient
import StratusRecords
import Synchronization

/// The IDs of records as they change, merged until they are read: a slow observer gets one large
/// set instead of many small ones.
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

    /// The changes since the last read, without waiting; empty if there are none.
    ///
    /// For an actor that iterates and must be up to date at once after a sync.
    public func takeUnseen() -> Set<ID> { Set(box.take().map(makeID)) }

    public func makeAsyncIterator() -> Iterator {
        Iterator(box: box, makeID: makeID, wakes: wakes.makeAsyncIterator())
    }

    /// Delivers the IDs of all records that changed since the last read, and waits until there is one.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let box: ChangeBox
        fileprivate let makeID: @Sendable (RecordID) -> ID
        fileprivate var wakes: AsyncStream<Void>.Iterator

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

/// The changes since an observer's last read.
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
