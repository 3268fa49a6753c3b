import StratusRecords
import StratusStorage

/// Opens the databases that requests are about, and the bytes of their assets.
final class Databases: Sendable {
    private let storage: any StorageEngine
    private let notifications: Notifications
    private let longChanges: LongChanges
    /// Also logs damaged rows, which the storage does not.
    let errors: ErrorTranslation

    init(
        storage: any StorageEngine, notifications: Notifications, longChanges: LongChanges,
        errors: ErrorTranslation
    ) {
        self.storage = storage
        self.notifications = notifications
        self.longChanges = longChanges
        self.errors = errors
    }

    /// The store of a database. At its first use, outbox events that a crash left behind are dispatched, and
    /// interrupted long changes continue.
    func store(for address: DatabaseAddress) async throws -> any RecordStore {
        let store = try await storage.store(for: address)
        notifications.dispatchPending(of: store)
        longChanges.takeUp(store)
        return store
    }

    /// The store of the request's database; nil for the shared database as a whole, which is a view of other users'
    /// databases.
    func store(of context: RequestContext) async throws -> (any RecordStore)? {
        guard let address = try context.databaseAddress() else { return nil }
        return try await store(for: address)
    }

    /// The bytes of a database's assets.
    func blobs(for address: DatabaseAddress) async throws -> any BlobStore {
        try await storage.blobs(for: address)
    }

    /// Every database that ever kept a blob.
    func withBlobs() async throws -> [DatabaseAddress] {
        try await storage.databasesWithBlobs()
    }

    /// The private database of a user in a container.
    func privateStore(
        of user: String, in address: ContainerAddress
    ) async throws -> any RecordStore {
        try await store(for: DatabaseAddress(address, .private(owner: user)))
    }
}
