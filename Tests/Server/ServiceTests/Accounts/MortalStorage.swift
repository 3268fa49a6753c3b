import StratusRecords
import StratusStorage
import Synchronization

/// A storage in which a process has a number of writes to records: as if it were killed after the last.
final class MortalStorage: StorageEngine {
    private let inner: SQLiteStorageEngine
    private let writes: Mutex<Int>

    init(_ inner: SQLiteStorageEngine, writes: Int) {
        self.inner = inner
        self.writes = Mutex(writes)
    }

    var directory: any Directory { inner.directory }
    var condition: StorageCondition { inner.condition }

    func store(for address: DatabaseAddress) async throws -> any RecordStore {
        Store(storage: self, inner: try await inner.store(for: address))
    }

    func blobs(for address: DatabaseAddress) async throws -> any BlobStore {
        try await inner.blobs(for: address)
    }

    func databasesWithBlobs() async throws -> [DatabaseAddress] {
        try await inner.databasesWithBlobs()
    }

    func databases() async throws -> [DatabaseAddress] { try await inner.databases() }
    func close() async throws {}

    private struct Store: RecordStore {
        let storage: MortalStorage
        let inner: any RecordStore
        var address: DatabaseAddress { inner.address }

        func read<Outcome: Sendable>(
            _ length: ReadLength,
            _ body: @escaping @Sendable (any StoreReader) throws -> Outcome
        ) async throws -> Outcome {
            try await inner.read(length, body)
        }

        func writeRecords<Outcome: Sendable>(
            _ body: @escaping @Sendable (any RecordTransaction) throws -> Outcome
        ) async throws -> Outcome {
            let isAlive = storage.writes.withLock { left in
                left -= 1
                return left >= 0
            }
            guard isAlive else { throw StorageError(.closed, "The process is gone.") }
            return try await inner.writeRecords(body)
        }
    }
}
