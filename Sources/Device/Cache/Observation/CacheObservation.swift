import StratusClient
import StratusRecords
import Synchronization

/// A sequence of a query's records: first as they are now, then whenever the app, another process with the file, or the
/// service changes them.
///
/// The first update has the current records. Each later one has all changes since the previous one, so a slow observer
/// gets a few large updates and misses nothing. A change of a record that did not match before and does not match now
/// costs no read. The sequence does not keep the cache alive, and ends when the cache is closed or released, or the task
/// of the loop is cancelled. Several loops over one observation are independent.
///
/// ```swift
/// let open = CacheQuery("Note").where(NSPredicate(format: "isDone == 0")).sorted(by: "date")
/// for try await update in try cache.observe(open) {
///     show(update.records)
///     for change in update.changes where change.kind == .inserted {
///         if case .person(let user) = change.author { print("new from", user.recordName) }
///     }
/// }
/// ```
public struct CacheObservation: AsyncSequence, Sendable {
    public typealias Element = QueryUpdate

    let store: CacheStore
    let observers: Observers
    let query: CompiledQuery

    public func makeAsyncIterator() -> Iterator {
        let (notes, wakes) = observers.watch(.query(query), in: store.scope)
        return Iterator(
            file: store.file, observer: QueryObserver(store, query, notes),
            wakes: wakes.makeAsyncIterator())
    }

    /// Delivers the updates of one loop: the first at once, each later one when the query's records have changed.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let file: CacheFile
        fileprivate let observer: QueryObserver
        fileprivate var wakes: AsyncStream<Void>.Iterator

        /// The changes since the last update, without waiting; nil if there are none.
        package func takeUpdate() throws -> QueryUpdate? { try observer.update() }

        /// - Throws: SQLite's error when the file cannot be read.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> QueryUpdate? {
            repeat {
                let (file, observer) = (file, observer)
                guard let update = try await file.readUntilEnd({ try observer.update() })
                else { return nil }
                if let update { return update }
            } while await wakes.next(isolation: actor) != nil
            return nil
        }
    }
}

/// A sequence of one record's versions: the current one, then each later one; see ``CacheObservation``.
public struct RecordObservation: AsyncSequence, Sendable {
    public typealias Element = RecordUpdate

    let store: CacheStore
    let observers: Observers
    let id: RecordID

    public func makeAsyncIterator() -> Iterator {
        let (notes, wakes) = observers.watch(.record(id), in: store.scope)
        return Iterator(store: store, id: id, notes: notes, wakes: wakes.makeAsyncIterator())
    }

    /// Delivers the updates of one loop: the current record, then each changed version.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let store: CacheStore
        fileprivate let id: RecordID
        fileprivate let notes: RowNotes
        fileprivate var wakes: AsyncStream<Void>.Iterator
        fileprivate var last: RecordSnapshot?
        fileprivate var isFirst = true

        /// - Throws: SQLite's error when the file cannot be read.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> RecordUpdate? {
            repeat {
                let taken = notes.take()
                if isFirst || !taken.isEmpty {
                    guard let (record, author) = try await Self.read(store, id, taken)
                    else { return nil }
                    notes.finish(all: [id], gone: [], searchable: nil)
                    if isFirst || record != last {
                        let author = isFirst ? nil : author ?? .unknown
                        isFirst = false
                        last = record
                        return RecordUpdate(
                            record: try record.map { store.file.withFiles(try $0.record()) },
                            author: author)
                    }
                }
            } while await wakes.next(isolation: actor) != nil
            return nil
        }

        private static func read(
            _ store: CacheStore, _ id: RecordID, _ taken: RowNotes.Taken
        ) async throws -> (RecordSnapshot?, ChangeAuthor?)? {
            try await store.file.readUntilEnd {
                try store.read { database in
                    let record = try store.rows(of: [id], database).first?.record
                    let author = try taken.sources[id].map {
                        try store.author(of: id, $0, database)
                    }
                    return (record, author)
                }
            }
        }
    }
}

extension CloudCache {
    /// Observes a query's records: as they are now, and again whenever they change.
    ///
    /// - Throws: `CKError.invalidArguments` that names the part that is not supported.
    public func observe(
        _ query: CacheQuery, in scope: CKDatabase.Scope = .private
    ) throws -> CacheObservation {
        CacheObservation(
            store: try database(scope).store, observers: observers,
            query: try query.compiled(now: world.now))
    }

    /// Observes one record: as it is now, and again whenever it changes.
    public func observe(
        _ id: CKRecord.ID, in scope: CKDatabase.Scope = .private
    ) throws -> RecordObservation {
        RecordObservation(
            store: try database(scope).store, observers: observers, id: RecordID(id))
    }
}
