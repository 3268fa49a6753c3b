import StratusClient
import StratusRecords
import StratusTesting
import StratusWire
import Synchronization

/// A transport whose account a test can switch, and which it can take offline or stop at a request.
final class SwitchableTransport: Transport {
    typealias Hook = @Sendable (_ path: String) async throws -> Void
    typealias Alteration = @Sendable (inout [RecordResult]) -> Void

    private let current: Mutex<any Transport>
    private let hook = Mutex<Hook?>(nil)
    private let alteration = Mutex<Alteration?>(nil)
    private let unreadable = Mutex<Set<String>>([])
    private let refusal = Mutex<ServiceError?>(nil)
    private let log = Mutex<[String]>([])
    private let listens: Bool

    /// - Parameter listens: Otherwise the registration for notifications never ends.
    init(_ transport: any Transport, listens: Bool = true) {
        current = Mutex(transport)
        self.listens = listens
    }

    /// The endpoints of the requests so far.
    var requests: [String] { log.withLock { $0 } }

    func use(_ transport: any Transport) { current.withLock { $0 = transport } }

    /// Runs a body before the next request to a path.
    func beforeNext(_ path: String, _ body: @escaping @Sendable () async throws -> Void) {
        beforeRequests { requested in
            guard requested == path else { return }
            self.beforeRequests(nil)
            try await body()
        }
    }

    /// Runs before each request.
    func beforeRequests(_ body: Hook?) { hook.withLock { $0 = body } }

    /// Runs a body before each further request to a path, with the request's number, from 1.
    ///
    /// - Returns: The count of these requests.
    func beforeEach(
        _ path: String, _ body: @escaping @Sendable (_ number: Int) async throws -> Void
    ) -> RequestCount {
        let count = RequestCount()
        beforeRequests { requested in
            guard requested == path else { return }
            try await body(count.next())
        }
        return count
    }

    /// Changes the results of the next save on their way to the device.
    func alterNextResults(_ body: @escaping Alteration) { alteration.withLock { $0 = body } }

    /// Makes the fields of records unreadable when they are fetched.
    func setUnreadable(_ names: Set<String>) { unreadable.withLock { $0 = names } }

    /// Refuses to return the records of the next request for records by their names.
    func refuseNextRecords(_ error: ServiceError) { refusal.withLock { $0 = error } }

    func goOffline() {
        beforeRequests { _ in throw TransportError(.noRoute, "The network is gone.") }
    }

    func goOnline() { beforeRequests(nil) }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        log.withLock { $0.append(E.path) }
        try await hook.withLock { $0 }?(E.path)
        // Waits until the listener is cancelled.
        if !listens, E.path == TokensCreate.path { try await Task.sleep(for: .seconds(86_400)) }
        let transport = current.withLock { $0 }
        let answer = try await transport.send(
            endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
        if E.path != RecordsModify.path { return fetched(answer) as? E.Answer ?? answer }
        guard var modified = answer as? RecordsModify.Answer,
            let alter = alteration.withLock({ $0.take() })
        else { return answer }
        alter(&modified.records)
        return modified as? E.Answer ?? answer
    }

    private func fetched(_ answer: Any) -> Any {
        let names = unreadable.withLock { $0 }
        func damage(_ results: inout [RecordResult]) {
            for (place, result) in results.enumerated() {
                guard case .record(var record) = result, names.contains(record.recordName ?? "")
                else { continue }
                record.fields = .encoded(Array("[".utf8))
                results[place] = .record(record)
            }
        }
        if var lookup = answer as? RecordsLookup.Answer {
            damage(&lookup.records)
            if let error = refusal.withLock({ $0.take() }) {
                lookup.records = lookup.records.map { result in
                    guard case .record(let record) = result else { return result }
                    return .failure(
                        RecordFailure(
                            recordName: record.recordName, zoneID: record.zoneID, error: error))
                }
            }
            return lookup
        }
        guard var changes = answer as? ChangesZone.Answer else { return answer }
        for (place, item) in changes.items.enumerated() {
            guard case .success(var page) = item else { continue }
            damage(&page.records)
            changes.items[place] = .success(page)
        }
        return changes
    }

    func nextNotification(
        at webcourierURL: String, timeoutSeconds: Double
    ) async throws -> NotificationPayload? {
        let transport = current.withLock { $0 }
        return try await transport.nextNotification(
            at: webcourierURL, timeoutSeconds: timeoutSeconds)
    }
}

/// The number of requests so far.
final class RequestCount: Sendable {
    private let count = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    /// Counts one more.
    func next() -> Int { count.add(1, ordering: .relaxed).newValue }
}

/// A device whose account and network a test can change.
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

    /// A device of Ida's with a zone that is not sent yet.
    static func withZone(_ cloud: TestCloud = TestCloud()) async throws -> SwitchableDevice {
        let phone = try await SwitchableDevice(cloud, "phone", user: "ida")
        phone.app.makeZone()
        return phone
    }

    /// A device of Ida's that has sent its zone and records with these texts.
    static func sent(
        _ texts: KeyValuePairs<String, String> = [:], to cloud: TestCloud = TestCloud()
    ) async throws -> SwitchableDevice {
        let phone = try await withZone(cloud)
        for (name, text) in texts { phone.app.write(name, text) }
        try await phone.app.engine.sendChanges()
        return phone
    }

    /// The device of `sent`, and its app without the log of that.
    static func sentAndReceived(
        _ texts: KeyValuePairs<String, String> = [:], to cloud: TestCloud = TestCloud()
    ) async throws -> (phone: SwitchableDevice, app: EngineApp) {
        let phone = try await sent(texts, to: cloud)
        _ = phone.app.takeLog()
        return (phone, phone.app)
    }

    /// Another person signs in, or with nil the user signs out.
    func become(_ user: String?) async throws {
        transport.use(try await cloud.connect(user: user, device: device).transport)
        connection.accountChanged(hasAccount: user != nil)
    }

    /// Another person signs in during the next request to a path.
    func become(_ user: String?, during path: String) {
        transport.beforeNext(path) { try await become(user) }
    }
}
