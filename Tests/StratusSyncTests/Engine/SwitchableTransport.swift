import StratusClient
import StratusTesting
import StratusWire
import Synchronization

/// A transport that a test puts under another account, takes offline, or stops at a request.
final class SwitchableTransport: Transport {
    typealias Hook = @Sendable (_ path: String) async throws -> Void

    private let current: Mutex<any Transport>
    private let hook = Mutex<Hook?>(nil)
    private let log = Mutex<[String]>([])

    init(_ transport: any Transport) {
        current = Mutex(transport)
    }

    /// The endpoints asked so far.
    var requests: [String] { log.withLock { $0 } }

    func use(_ transport: any Transport) { current.withLock { $0 = transport } }

    /// Runs before each request.
    func beforeRequests(_ body: Hook?) { hook.withLock { $0 = body } }

    func goOffline() {
        beforeRequests { _ in throw TransportError(.noRoute, "The network is gone.") }
    }

    func goOnline() { beforeRequests(nil) }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        log.withLock { $0.append(E.path) }
        try await hook.withLock { $0 }?(E.path)
        let transport = current.withLock { $0 }
        return try await transport.send(
            endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        let transport = current.withLock { $0 }
        return try await transport.nextNotification(
            at: webcourierURL, timeoutSeconds: timeoutSeconds)
    }
}

/// A device whose account and network a test changes.
struct SwitchableDevice {
    let cloud: TestCloud
    let device: String
    let transport: SwitchableTransport
    let connection: CloudConnection
    let app: EngineApp

    init(
        _ cloud: TestCloud, _ device: String, user: String?, automatically: Bool = false,
        clock: TestClock? = nil
    ) async throws {
        self.cloud = cloud
        self.device = device
        let link = try await cloud.connect(user: user, device: device)
        transport = SwitchableTransport(link.transport)
        connection = CloudConnection(
            transport: transport, hasAccount: user != nil, deviceID: device,
            world: clock?.world ?? .init())
        let container = CKContainer(identifier: EngineWorld.container, connection: connection)
        app = EngineApp(container.privateCloudDatabase, automatically: automatically)
    }

    /// Another person signs in, or nobody.
    func become(_ user: String?) async throws {
        transport.use(try await cloud.connect(user: user, device: device).transport)
        connection.accountChanged(hasAccount: user != nil)
    }
}
