import StratusClient
import StratusTesting
import StratusWire
import Synchronization

/// A transport that a test puts under another account, takes offline, or stops at a request.
final class SwitchableTransport: Transport {
    typealias Hook = @Sendable (_ path: String) async throws -> Void
    typealias Alteration = @Sendable (inout [RecordResult]) -> Void

    private let current: Mutex<any Transport>
    private let hook = Mutex<Hook?>(nil)
    private let alteration = Mutex<Alteration?>(nil)
    private let log = Mutex<[String]>([])
    private let listens: Bool

    /// - Parameter listens: else nobody who wants notifications is ever registered.
    init(_ transport: any Transport, listens: Bool = true) {
        current = Mutex(transport)
        self.listens = listens
    }

    /// The endpoints asked so far.
    var requests: [String] { log.withLock { $0 } }

    func use(_ transport: any Transport) { current.withLock { $0 = transport } }

    /// Runs something before the next request of a path.
    func beforeNext(_ path: String, _ body: @escaping @Sendable () async throws -> Void) {
        beforeRequests { requested in
            guard requested == path else { return }
            self.beforeRequests(nil)
            try await body()
        }
    }

    /// Runs before each request.
    func beforeRequests(_ body: Hook?) { hook.withLock { $0 = body } }

    /// Changes what becomes of the records of the next save, on the way to the device.
    func alterNextResults(_ body: @escaping Alteration) { alteration.withLock { $0 = body } }

    func goOffline() {
        beforeRequests { _ in throw TransportError(.noRoute, "The network is gone.") }
    }

    func goOnline() { beforeRequests(nil) }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        log.withLock { $0.append(E.path) }
        try await hook.withLock { $0 }?(E.path)
        // Until the listener ends.
        if !listens, E.path == TokensCreate.path { try await Task.sleep(for: .seconds(86_400)) }
        let transport = current.withLock { $0 }
        let answer = try await transport.send(
            endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
        guard var modified = answer as? RecordsModify.Answer,
            let alter = alteration.withLock({ $0.take() })
        else { return answer }
        alter(&modified.records)
        return modified as? E.Answer ?? answer
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
        clock: TestClock? = nil, listens: Bool = true
    ) async throws {
        self.cloud = cloud
        self.device = device
        let link = try await cloud.connect(user: user, device: device)
        transport = SwitchableTransport(link.transport, listens: listens)
        connection = CloudConnection(
            transport: transport, hasAccount: user != nil, deviceID: device,
            world: clock?.world ?? .init())
        let container = CKContainer(identifier: EngineWorld.container, connection: connection)
        app = EngineApp(container.privateCloudDatabase, automatically: automatically)
    }

    /// A device of Ida's with a zone that was not sent.
    static func withZone(_ cloud: TestCloud = TestCloud()) async throws -> SwitchableDevice {
        let phone = try await SwitchableDevice(cloud, "phone", user: "ida")
        phone.app.makeZone()
        return phone
    }

    /// A device of Ida's whose zone and records with these texts were sent.
    static func sent(
        _ texts: KeyValuePairs<String, String> = [:], to cloud: TestCloud = TestCloud()
    ) async throws -> SwitchableDevice {
        let phone = try await withZone(cloud)
        for (name, text) in texts { phone.app.write(name, text) }
        try await phone.app.engine.sendChanges()
        return phone
    }

    /// The app of such a device, which has heard of that.
    static func sentAndHeard(
        _ texts: KeyValuePairs<String, String> = [:], to cloud: TestCloud = TestCloud()
    ) async throws -> (phone: SwitchableDevice, app: EngineApp) {
        let phone = try await sent(texts, to: cloud)
        _ = phone.app.takeLog()
        return (phone, phone.app)
    }

    /// Another person signs in, or nobody.
    func become(_ user: String?) async throws {
        transport.use(try await cloud.connect(user: user, device: device).transport)
        connection.accountChanged(hasAccount: user != nil)
    }

    /// Another person signs in while the next request of a path is under way.
    func become(_ user: String?, during path: String) {
        transport.beforeNext(path) { try await become(user) }
    }
}
