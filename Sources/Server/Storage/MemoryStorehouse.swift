import StratusRecords
import Synchronization

/// The databases of one service in memory, with the same promises but the one about power cuts.
///
/// For tests and for `stratus serve --memory`: when the last reference is gone, so is everything.
///
/// ```swift
/// let house = MemoryStorehouse()
/// let store = try await house.store(for: address)
/// ```
public final class MemoryStorehouse: Storehouse {
    private struct State {
        var stores: [DatabaseAddress: MemoryRecordStore] = [:]
        var blobs: [DatabaseAddress: MemoryBlobStore] = [:]
        var isClosed = false
    }

    private let random: RandomSource
    private let memory: MemoryDirectory
    private let state = Mutex(State())

    /// Makes an empty house.
    ///
    /// - Parameter random: names new histories and makes the signing key.
    public init(
        random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
    ) {
        self.random = RandomSource(random)
        memory = MemoryDirectory(signingKey: self.random.bytes(32))
    }

    public var directory: any Directory { memory }

    public func store(for address: DatabaseAddress) async throws -> any RecordStore {
        try state.withLock { state in
            if state.isClosed { throw StorageError.closed() }
            if let store = state.stores[address] { return store }
            let incarnation = Incarnation(number: 1, identifier: random.number())
            let store = try MemoryRecordStore(address: address, incarnation: incarnation)
            state.stores[address] = store
            return store
        }
    }

    public func blobs(for address: DatabaseAddress) async throws -> any BlobStore {
        try state.withLock { state in
            if state.isClosed { throw StorageError.closed() }
            if let blobs = state.blobs[address] { return blobs }
            let blobs = MemoryBlobStore()
            state.blobs[address] = blobs
            return blobs
        }
    }

    public func databasesWithBlobs() async throws -> [DatabaseAddress] {
        state.withLock { Array($0.blobs.keys) }
    }

    public func databases() async throws -> [DatabaseAddress] {
        state.withLock { Array($0.stores.keys) }
    }

    public func close() async throws {
        let stores = state.withLock { state in
            state.isClosed = true
            return state.stores.values
        }
        for store in stores { store.close() }
        memory.close()
    }
}
