import StratusRecords
import StratusStorage
import Synchronization

/// A storage engine in which a test runs code before databases are opened, before reads and writes of records, and after
/// writes.
final class WatchedStorage: StorageEngine {
    /// A read of records that is about to begin.
    struct Read: Sendable {
        var length: ReadLength
        /// The type of the read's result.
        var outcome: any Sendable.Type
    }

    private let inner: SQLiteStorageEngine
    private let beforeOpening: @Sendable (DatabaseAddress) throws -> Void
    private let beforeRead: @Sendable (Read) async throws -> Void
    private let beforeWrite: @Sendable (DatabaseAddress) async throws -> Void
    private let afterWrite: @Sendable (DatabaseAddress) async throws -> Void

    /// - Parameters:
    ///   - beforeOpening: If it throws, the database cannot be used.
    ///   - beforeRead: If it throws, the read throws the same error.
    ///   - beforeWrite: If it throws, the write throws the same error.
    ///   - afterWrite: Runs when the write has been committed, before its caller continues.
    init(
        _ inner: SQLiteStorageEngine = .inMemory(world: .seeded(7)),
        beforeOpening: @escaping @Sendable (DatabaseAddress) throws -> Void = { _ in },
        beforeRead: @escaping @Sendable (Read) async throws -> Void = { _ in },
        beforeWrite: @escaping @Sendable (DatabaseAddress) async throws -> Void = { _ in },
        afterWrite: @escaping @Sendable (DatabaseAddress) async throws -> Void = { _ in }
    ) {
        self.inner = inner
        self.beforeOpening = beforeOpening
        self.beforeRead = beforeRead
        self.beforeWrite = beforeWrite
        self.afterWrite = afterWrite
    }

    /// A storage engine in which a process can write this many times to records, as if it were killed afterwards.
    static func mortal(_ inner: SQLiteStorageEngine, writes: Int) -> WatchedStorage {
        let left = Mutex(writes)
        return WatchedStorage(
            inner,
            beforeWrite: { _ in
                let isAlive = left.withLock { left in
                    left -= 1
                    return left >= 0
                }
                guard isAlive else { throw StorageError(.closed, "The process is gone.") }
            })
    }

    var directory: any Directory { inner.directory }
    var condition: StorageCondition { inner.condition }

    func store(for address: DatabaseAddress) async throws -> any RecordStore {
        try beforeOpening(address)
        return Store(storage: self, inner: try await inner.store(for: address))
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
        let storage: WatchedStorage
        let inner: any RecordStore
        var address: DatabaseAddress { inner.address }

        func read<Outcome: Sendable>(
            _ length: ReadLength,
            _ body: @escaping @Sendable (any StoreReader) throws -> Outcome
        ) async throws -> Outcome {
            try await storage.beforeRead(Read(length: length, outcome: Outcome.self))
            return try await inner.read(length, body)
        }

        func writeRecords<Outcome: Sendable>(
            _ body: @escaping @Sendable (any RecordTransaction) throws -> Outcome
        ) async throws -> Outcome {
            try await storage.beforeWrite(address)
            let outcome = try await inner.writeRecords(body)
            try await storage.afterWrite(address)
            return outcome
        }
    }
}

/// The database whose file a test has damaged.
final class DamagedFile: Sendable {
    private let damaged = Mutex<(address: DatabaseAddress, row: DamagedRow?)?>(nil)

    /// A storage engine that refuses this database.
    var storage: WatchedStorage {
        WatchedStorage(beforeOpening: { [self] address in try check(address) })
    }

    /// Damages the private database of a user.
    ///
    /// - Parameter row: The row of it that is damaged; nil for the file as a whole.
    func damage(_ person: Person, row: DamagedRow? = nil) {
        let home = DatabaseAddress(person.world.address, .private(owner: person.name))
        damaged.withLock { $0 = (home, row) }
    }

    func repair() { damaged.withLock { $0 = nil } }

    private func check(_ address: DatabaseAddress) throws {
        guard let damage = damaged.withLock({ $0 }), damage.address == address else { return }
        var error = StorageError(.corrupt, "The test has damaged this file.")
        error.database = address
        error.damagedRow = damage.row
        throw error
    }
}
