import Foundation
import StratusClient
import StratusRecords
import StratusRuntime
import StratusService
import StratusStorage

/// A whole cloud in one process: the real service with databases in memory, and as many users and
/// devices as a test needs, without a network, an account or another process.
///
/// ```swift
/// let cloud = TestCloud()
/// let phone = try await cloud.container("iCloud.org.example.Trails", user: "alice", device: "phone")
/// let tablet = try await cloud.container("iCloud.org.example.Trails", user: "alice", device: "tablet")
/// try await phone.privateCloudDatabase.save(CKRecord(recordType: "Hut"))
/// ```
public final class TestCloud: Sendable {
    /// The service itself, for operator functions.
    public let service: CloudService
    /// The keys of encrypted values, shared by all devices of a user.
    public let keyStore: any CloudKeyStore = MemoryKeyStore()
    /// Long-lived operations, in a folder for each device: what a device left unfinished continues when it
    /// is connected again. Created by the first such operation; removed with the cloud.
    public let operationFolder: URL
    let deviceScript = DeviceScript()

    /// - Parameters:
    ///   - storage: Where the cloud keeps its data; new databases in memory by default.
    ///   - settings: The service's limits and its world: time and randomness.
    ///   - identifier: Names the folder of long-lived operations.
    public init(
        storage: any StorageEngine = SQLiteStorageEngine.inMemory(),
        settings: ServiceSettings = ServiceSettings(isForDevelopment: true),
        identifier: UUID = World.live.makeUUID()
    ) {
        service = CloudService(storage: storage, settings: settings)
        operationFolder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "stratus-operations-" + identifier.uuidString)
    }

    deinit {
        // Usually there is no folder. If it cannot be removed, the system cleans its folder for
        // temporary files.
        try? FileManager.default.removeItem(at: operationFolder)
    }

    /// Connects a device.
    ///
    /// - Parameters:
    ///   - user: The user who is signed in; nil for none. A user is created at the first sign-in.
    ///   - device: The device's identifier: it is not notified of its own changes.
    ///   - keyStore: The device's own keys; nil takes ``keyStore``.
    ///   - world: time and randomness; tests can pass their own.
    public func connect(
        user: String?, device: String, world: CloudConnection.World = .init(),
        keyStore: (any CloudKeyStore)? = nil
    ) async throws -> CloudConnection {
        let token = try await signIn(user)
        let transport = InProcessTransport(
            service: service, webAuthToken: token, device: device, script: deviceScript)
        return CloudConnection(
            transport: transport, hasAccount: user != nil, deviceID: device, world: world,
            keyStore: keyStore ?? self.keyStore,
            operationFolder: operationFolder.appendingPathComponent(device))
    }

    /// Connects a device and gives it a container.
    public func container(
        _ identifier: String, user: String?, device: String
    ) async throws -> CKContainer {
        CKContainer(
            identifier: identifier, connection: try await connect(user: user, device: device))
    }

    /// Signs a user in on a device, replacing the current one; `CKAccountChanged` is posted.
    ///
    /// Signing out is `connection.signOut()`.
    public func signIn(_ user: String, on connection: CloudConnection) async throws {
        let session = try await service.signInForDevelopment(user: user)
        try connection.signIn(webAuthToken: session.webAuthToken)
    }

    private func signIn(_ user: String?) async throws -> String? {
        guard let user else { return nil }
        return try await service.signInForDevelopment(user: user).webAuthToken
    }
}

extension TestCloud {
    /// A cloud with the time, random numbers and tasks of a seeded world.
    public convenience init(seeded world: SeededWorld) {
        let own = world.world("service")
        self.init(
            storage: SQLiteStorageEngine.inMemory(world: own),
            settings: ServiceSettings(isForDevelopment: true, world: own),
            identifier: own.makeUUID())
    }
}
