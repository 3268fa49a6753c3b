import Foundation
import StratusClient
import StratusRecords
import StratusService
import StratusStorage

/// A whole cloud in one process: the real service over a store in memory, and as many users and
/// devices as a test wants. No network, no account, no other process.
///
/// ```swift
/// let cloud = TestCloud()
/// let phone = try await cloud.container("iCloud.org.example.Trails", user: "alice", device: "phone")
/// let tablet = try await cloud.container("iCloud.org.example.Trails", user: "alice", device: "tablet")
/// try await phone.privateCloudDatabase.save(CKRecord(recordType: "Hut"))
/// ```
public final class TestCloud: Sendable {
    /// The service itself, for what only its operator can do.
    public let service: CloudService
    /// Keys of encrypted values: all devices of a user have them, as if they had been carried over.
    public let keyStore: any CloudKeyStore = MemoryKeyStore()
    /// Long-lived operations, a folder for each device: what one device left undone goes on when it is
    /// connected again. Made by the first of them; removed with the cloud.
    public let operationFolder: URL

    /// - Parameters:
    ///   - storehouse: Where the cloud keeps its data; a new store in memory by default.
    ///   - settings: Limits, clock and chance of the service.
    ///   - identifier: Names the folder of long-lived operations.
    public init(
        storehouse: any Storehouse = MemoryStorehouse(),
        settings: ServiceSettings = ServiceSettings(isForDevelopment: true),
        identifier: UUID = UUID()
    ) {
        service = CloudService(storehouse: storehouse, settings: settings)
        operationFolder = FileManager.default.temporaryDirectory.appendingPathComponent(
            "stratus-operations-" + identifier.uuidString)
    }

    deinit {
        // Nearly always there is none; what is left goes with the system's folder.
        try? FileManager.default.removeItem(at: operationFolder)
    }

    /// Connects a device.
    ///
    /// - Parameters:
    ///   - user: Who is signed in; nil for nobody. A user comes into being at the first sign-in.
    ///   - device: The device's identifier: it is not notified of its own changes.
    ///   - keyStore: The device's own keys; nil takes ``keyStore``.
    public func connect(
        user: String?, device: String, world: CloudConnection.World = .init(),
        keyStore: (any CloudKeyStore)? = nil
    ) async throws -> CloudConnection {
        let token = try await signIn(user)
        let transport = InProcessTransport(service: service, webAuthToken: token, device: device)
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

    /// Signs somebody in on a device, in place of who was; `CKAccountChanged` is posted.
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
