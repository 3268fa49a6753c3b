import StratusRecords
import Synchronization

/// One database in memory.
///
/// A write works on a copy of the state, which shares with the original all that it does not change; a
/// closure that throws leaves the copy behind. A read takes the state as it is and never waits.
final class MemoryRecordStore: RecordStore {
    let address: DatabaseAddress
    private let published: Mutex<MemoryState>
    private let isClosed = Mutex(false)
    /// Held while a write runs, on the thread that asked: closures do not wait for anything, and a world
    /// run from one seed needs no other thread.
    private let writing = Mutex(())

    init(address: DatabaseAddress, incarnation: Incarnation) throws {
        self.address = address
        let transaction = MemoryTransaction(MemoryState(incarnation: incarnation))
        _ = try transaction.createZone(named: ZoneID.defaultZoneName, hasFeed: false)
        published = Mutex(transaction.state)
    }

    func read<Outcome: Sendable>(
        _ length: ReadLength,
        _ body: @escaping @Sendable (any StoreReader) throws -> Outcome
    ) async throws -> Outcome {
        try checkOpen()
        return try body(MemoryTransaction(published.withLock { $0 }))
    }

    func write<Outcome: Sendable>(
        _ body: @escaping @Sendable (any StoreWriter) throws -> Outcome
    ) async throws -> Outcome {
        try writing.withLock { _ in
            try checkOpen()
            let transaction = MemoryTransaction(published.withLock { $0 })
            let outcome = try body(transaction)
            published.withLock { $0 = transaction.state }
            return outcome
        }
    }

    func close() {
        writing.withLock { _ in isClosed.withLock { $0 = true } }
    }

    private func checkOpen() throws {
        if isClosed.withLock({ $0 }) { throw StorageError.closed() }
    }
}
