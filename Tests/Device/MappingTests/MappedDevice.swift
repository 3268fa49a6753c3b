import Foundation
import Logging
import StratusClient
import StratusMapping
import StratusRecords
import StratusRuntime
import StratusTesting
import StratusWire
import Synchronization

/// A device with a store of objects and its own mapping.
final class MappedDevice: Sendable {
    static let container = "iCloud.org.example.People"

    let cloud: TestCloud
    let name: String
    let transport: CountingTransport
    let connection: CloudConnection
    let scope: CKDatabase.Scope
    let store: RecordingStore
    let file: URL
    let world: World
    let types: [any CloudEntity.Type]
    let mapping: CloudMapping

    var database: CKDatabase {
        CKContainer(identifier: Self.container, connection: connection).database(with: scope)
    }

    init(
        _ cloud: TestCloud, _ name: String, user: String = "alice",
        scope: CKDatabase.Scope = .private, store: RecordingStore = RecordingStore(),
        file: URL? = nil, world: World = .live, logger: Logger = Logger(label: "test"),
        types: [any CloudEntity.Type] = [
            Person.self, Home.self, Course.self, Ticket.self, Tool.self,
        ], deviceID: String? = nil, keyStore: (any CloudKeyStore)? = nil,
        ignoring: @escaping @Sendable (any CloudEntity) -> Bool = { _ in false }
    ) async throws {
        let link = try await cloud.connect(user: user, device: name)
        guard let inner = link.transport as? any AccountTransport else {
            throw MappingError(.notSetUp, "Give the test a transport whose account can change.")
        }
        transport = CountingTransport(inner)
        connection = CloudConnection(
            transport: transport, hasAccount: true, deviceID: name, world: world,
            keyStore: keyStore ?? cloud.keyStore)
        self.cloud = cloud
        self.name = name
        self.scope = scope
        self.store = store
        self.world = world
        self.types = types
        self.file =
            file
            ?? FileManager.default.temporaryDirectory.appendingPathComponent(
                "mapping-\(UUID().uuidString)")
        let container = CKContainer(identifier: Self.container, connection: connection)
        mapping = try CloudMapping(
            database: container.database(with: scope), types: types, store: store, file: self.file,
            deviceID: deviceID, ignoring: ignoring, logger: logger, world: world)
    }

    /// The same device after a restart, with its file and its store. The file is a copy, as the former mapping still
    /// has the other one open.
    func restarted() async throws -> MappedDevice {
        let copy = FileManager.default.temporaryDirectory.appendingPathComponent(
            "mapping-\(UUID().uuidString)")
        try FileManager.default.copyItem(at: file, to: copy)
        return try await MappedDevice(
            cloud, name, scope: scope, store: store, file: copy, world: world, types: types)
    }

    /// Runs a body as this device's process: `iCloud` uses its mapping.
    func run<Value>(_ body: () async throws -> Value) async rethrows -> Value {
        try await CloudMapping.$current.withValue(mapping) { try await body() }
    }

    func sync(forced: Bool = false) async throws {
        try await mapping.syncEntities(forced: forced)
    }

    func person(_ name: String) -> Person? {
        store.memory.objects(Person.self).first { $0.firstName == name }
    }

    /// Adds a new object to the app's store.
    func add<Entity: CloudEntity>(_ entity: Entity) -> Entity {
        store.memory.insert(entity)
        return entity
    }

    func addPerson(_ name: String, _ edit: (inout PersonFields) -> Void = { _ in }) -> Person {
        let person = Person()
        person.edit { fields in
            fields.firstName = name
            edit(&fields)
        }
        return add(person)
    }

    func addHome(_ road: String) -> Home {
        let home = Home()
        home.edit { $0.road = road }
        return add(home)
    }

    func record(_ name: String?) async throws -> CKRecord {
        let zone: CKRecordZone.ID =
            scope == .private ? CKRecordZone.ID(zoneName: "Objects") : .default
        return try await database.record(
            for: CKRecord.ID(recordName: name ?? "none", zoneID: zone))
    }

    func records(_ type: String) async throws -> [CKRecord] {
        let query = CKQuery(recordType: type, predicate: NSPredicate(value: true))
        do {
            return try await database.records(matching: query).matchResults.map { try $0.1.get() }
        } catch let error as CKError where error.isNotFound {
            return []
        }
    }

    deinit {
        // The system empties its temporary folder anyway, and the file may never have been created.
        try? FileManager.default.removeItem(at: file)
    }
}

/// A store in memory that records its callbacks.
final class RecordingStore: CloudStore {
    struct Received: Sendable {
        var saved: [String] = []
        var failures: [String] = []
        var errors: [String] = []
        var finished: [String] = []
        var new = 0
        var updated = 0
        var records: [CKRecord] = []
        var deleted: [String] = []
    }

    let memory = MemoryStore(
        Person.self, Home.self, Course.self, Ticket.self, Tool.self, Shelf.self, Book.self)
    /// Code of the app that runs in the callbacks.
    struct Hooks: Sendable {
        var didSave: (@Sendable (any CloudEntity, CKRecord?, (any Error)?) async -> Void)?
        var keep: (@Sendable (any CloudEntity) async throws -> Void)?
        var didFinish: (@Sendable () async throws -> Void)?
    }

    let received = Mutex(Received())
    let hooks = Mutex(Hooks())
    /// Whether the store applies the changes and finishes the sync, as an app does.
    let finishes = Mutex(true)
    private let saves = AsyncStream.makeStream(of: String.self)

    func all<Entity: CloudEntity>(_ type: Entity.Type) async throws -> [Entity] {
        try await memory.all(type)
    }

    func create<Entity: CloudEntity>(
        _ type: Entity.Type, syncID: String
    ) async throws -> Entity { try await memory.create(type, syncID: syncID) }

    func fetch<Entity: CloudEntity>(
        _ type: Entity.Type, syncID: String
    ) async throws -> Entity? { try await memory.fetch(type, syncID: syncID) }

    func remove<Entity: CloudEntity>(_ type: Entity.Type, syncID: String) async throws {
        try await memory.remove(type, syncID: syncID)
    }

    func keep<Entity: CloudEntity>(_ entity: Entity) async throws {
        try await memory.keep(entity)
        try await hooks.withLock { $0.keep }?(entity)
    }

    func didSave<Entity: CloudEntity>(
        _ entity: Entity, record: CKRecord?, error: (any Error)?
    ) async {
        received.withLock { received in
            if let record { received.saved.append(record.recordType) }
            if let error {
                received.failures.append("\(Entity.cloudMap.recordType)")
                received.errors.append("\(error)")
            }
        }
        await hooks.withLock { $0.didSave }?(entity, record, error)
        saves.continuation.yield(Entity.cloudMap.recordType)
    }

    /// Waits until the store was notified of this many saves, successful or not.
    func waitForSaves(_ count: Int) async {
        var left = count
        for await _ in saves.stream {
            left -= 1
            if left == 0 { return }
        }
    }

    func syncDidFinish<Entity: CloudEntity>(_ changes: SyncChanges<Entity>) async throws {
        received.withLock { received in
            received.new += changes.newRecords.count
            received.updated += changes.updatedRecords.count
            received.records += changes.newRecords + changes.updatedRecords
            received.deleted += changes.deleted.map { "\($0.entityType.cloudType) \($0.syncID)" }
        }
        guard finishes.withLock({ $0 }) else { return }
        try await hooks.withLock { $0.didFinish }?()
        try await changes.apply()
        try await changes.finish()
        received.withLock { $0.finished.append(Entity.cloudMap.recordType) }
    }

    func forgetReceived() { received.withLock { $0 = Received() } }
}

extension CloudEntity {
    static var cloudType: String { cloudMap.recordType }
}

/// Counts requests and received records, and can turn its network off.
final class CountingTransport: PassingTransport {
    struct State {
        var requests: [String] = []
        /// The number of records in answers to queries and to fetches of changes.
        var receivedRecords = 0
        var uploads = 0
        var isOffline = false
        /// The names of records whose fields cannot be read in answers.
        var unreadable: Set<String> = []
        /// Whether the service has lost the files of all assets.
        var lacksFiles = false
        var gates: [String: (@Sendable () async -> Void)] = [:]
        var underWay = 0
        var mostUnderWay = 0
    }

    let inner: any AccountTransport
    let state = Mutex(State())

    init(_ inner: any AccountTransport) { self.inner = inner }

    var requests: [String] { state.withLock { $0.requests } }
    var receivedRecords: Int { state.withLock { $0.receivedRecords } }
    var uploads: Int { state.withLock { $0.uploads } }
    var count: Int { state.withLock { $0.requests.count } }
    var isOffline: Bool {
        get { state.withLock { $0.isOffline } }
        set { state.withLock { $0.isOffline = newValue } }
    }

    /// Runs before each request to an endpoint is passed on.
    func before(_ endpoint: any Endpoint.Type, _ gate: @escaping @Sendable () async -> Void) {
        state.withLock { $0.gates[endpoint.path] = gate }
    }

    func send<E: Endpoint>(
        _ endpoint: E.Type, _ request: E.Request, to target: RequestTarget, timeoutSeconds: Double
    ) async throws -> E.Answer {
        let (isOffline, gate) = state.withLock { state in
            state.requests.append(E.path)
            if E.path == RecordsModify.path {
                state.underWay += 1
                state.mostUnderWay = max(state.mostUnderWay, state.underWay)
            }
            return (state.isOffline, state.gates[E.path])
        }
        defer {
            if E.path == RecordsModify.path { state.withLock { $0.underWay -= 1 } }
        }
        await gate?()
        if isOffline { throw TransportError(.refused, "There is no network.") }
        let answer = try await inner.send(
            endpoint, request, to: target, timeoutSeconds: timeoutSeconds)
        let unreadable = state.withLock { state in
            state.receivedRecords += Self.recordCount(of: answer)
            return E.path == RecordsModify.path ? [] : state.unreadable
        }
        if unreadable.isEmpty { return answer }
        return Self.damaged(answer, unreadable) as? E.Answer ?? answer
    }

    /// An answer in which some records have fields that cannot be read.
    private static func damaged(_ answer: Any, _ names: Set<String>) -> Any {
        func broken(_ results: [RecordResult]) -> [RecordResult] {
            results.map { result in
                guard case .record(var record) = result, let name = record.recordName,
                    names.contains(name)
                else { return result }
                record.fields = .encoded(Array("[".utf8))
                return .record(record)
            }
        }
        switch answer {
        case var answer as RecordsLookup.Answer:
            answer.records = broken(answer.records)
            return answer
        case var answer as RecordsQuery.Answer:
            answer.records = broken(answer.records)
            return answer
        case var answer as ChangesZone.Answer:
            answer.items = answer.items.map { item in
                item.map { page in
                    var page = page
                    page.records = broken(page.records)
                    return page
                }
            }
            return answer
        default: return answer
        }
    }

    private static func recordCount(of answer: Any) -> Int {
        switch answer {
        case let answer as RecordsQuery.Answer: answer.records.count
        case let answer as ChangesZone.Answer:
            answer.items.reduce(0) { count, item in
                guard case .success(let page) = item else { return count }
                return count + page.records.count
            }
        default: 0
        }
    }

    func upload(
        _ asset: AssetUpload, to url: String, timeoutSeconds: Double
    ) async throws -> AssetReceipt {
        state.withLock { $0.uploads += 1 }
        return try await inner.upload(asset, to: url, timeoutSeconds: timeoutSeconds)
    }

    func download(
        from url: String, timeoutSeconds: Double,
        receive: @escaping @Sendable ([UInt8]) async throws -> Void
    ) async throws {
        if state.withLock({ $0.lacksFiles }) {
            throw ServiceFailure(
                ServiceError(.notFound, "The test has lost the file of the asset."))
        }
        try await inner.download(from: url, timeoutSeconds: timeoutSeconds, receive: receive)
    }
}
