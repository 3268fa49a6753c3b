import StratusRecords
import StratusService
import StratusStorage
import Synchronization
import Testing

/// Of what a participant's other devices are notified when one of them follows a link, step by step.
@Suite struct JoiningNoticeTests {
    /// The owner's database has the participant before the participant's own has the zone. A device that is
    /// notified between the two finds nothing, so it is notified once more.
    @Test func otherDeviceIsNotifiedOnceItsDatabaseHasTheZone() async throws {
        let storage = PausedStorage()
        let world = World(storage)
        let (ida, bo) = (try await world.person("ida"), try await world.person("bo"))
        let tablet = bo.at("tablet")
        let token = try await tablet.listen()
        try await tablet.subscribe([SubscriptionsTests.database("d")], in: .shared)
        try await ida.makeZone("Trips")
        let made = try await ida.modify(
            [hut(.create, "trail"), share(.create, "S", of: "trail", participants: [invited(bo)])],
            in: "Trips")
        let link = try #require(made[1].record?.shortGUID)
        _ = try await tablet.received(token)
        let between = Mutex<(notices: Int, zones: Int)?>(nil)
        storage.pauseOnce(DatabaseAddress(world.address, .private(owner: bo.name))) {
            let notices = try await tablet.received(token).count
            let zones = try await tablet.sharedZones().count
            between.withLock { $0 = (notices, zones) }
        }
        #expect(try await bo.accept(link).metadata?.participantStatus == .accepted)
        let seen = try #require(between.withLock { $0 })
        #expect(seen == (1, 0))
        #expect(try await tablet.received(token).count == 1)
        #expect(try await tablet.sharedZones().count == 1)
        // Following the link again changes nothing, and so nobody is notified.
        _ = try await bo.accept(link)
        #expect(try await tablet.received(token).isEmpty)
    }
}

/// A storage in which a test does something before a write to one database.
private final class PausedStorage: StorageEngine {
    private struct Pause {
        var address: DatabaseAddress
        var body: @Sendable () async throws -> Void
    }

    private let inner = SQLiteStorageEngine.inMemory(world: .seeded(7))
    private let pause = Mutex<Pause?>(nil)

    /// Runs `body` before the next write to a database.
    func pauseOnce(
        _ address: DatabaseAddress, _ body: @escaping @Sendable () async throws -> Void
    ) {
        pause.withLock { $0 = Pause(address: address, body: body) }
    }

    private func takePause(of address: DatabaseAddress) -> Pause? {
        pause.withLock { pause in
            guard pause?.address == address else { return nil }
            defer { pause = nil }
            return pause
        }
    }

    var directory: any Directory { inner.directory }

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
    func close() async throws { try await inner.close() }

    private struct Store: RecordStore {
        let storage: PausedStorage
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
            try await storage.takePause(of: address)?.body()
            return try await inner.writeRecords(body)
        }
    }
}
