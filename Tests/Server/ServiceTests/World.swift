import Foundation
import Logging
import StratusRecords
import StratusStorage
import StratusTesting
import StratusWire
import Synchronization
import TestProcesses

@testable import StratusService

/// Where a test's service stores its data.
enum Backend: CaseIterable, Sendable {
    case memory
    case sqlite

    func storage() throws -> any StorageEngine {
        switch self {
        case .memory:
            return SQLiteStorageEngine.inMemory(world: .seeded(7))
        case .sqlite:
            return try SQLiteStorageEngine(folder: RunFolder.newFolder())
        }
    }
}

/// A service whose clock and random numbers the test controls.
final class World: Sendable {
    static let container = "iCloud.org.example.Trails"

    let service: CloudService
    let address: ContainerAddress
    private let time: Time

    private final class Time: Sendable {
        let milliseconds = Mutex<Int64>(1_750_000_000_000)
    }

    /// - Parameter heldBack: The names of the service's background tasks that do nothing.
    init(
        _ storage: any StorageEngine = SQLiteStorageEngine.inMemory(world: .seeded(7)),
        environment: ContainerEnvironment = .development, isForDevelopment: Bool = true,
        limits: Limits = Limits(), isThrottled: Bool? = nil, heavyThreads: Int = 0,
        accounts: AccountSettings = AccountSettings(), startsLongChanges: Bool = true,
        heldBack: Set<String> = [], logger: Logger = Logger(label: "stratus.service"),
        pushDelivery: (any PushDelivery)? = nil,
        sleep: @escaping @Sendable (Double) async throws -> Void = { seconds in
            // The work of a quiet service must not start because a test is slow.
            let isQuiet = seconds == Notifications.quietSeconds
            try await Task.sleep(for: .seconds(isQuiet ? 3_600 : seconds))
        }
    ) {
        let time = Time()
        var settings = ServiceSettings(
            isForDevelopment: isForDevelopment, limits: limits, isThrottled: isThrottled,
            world: .seeded(42), logger: logger, pushDelivery: pushDelivery)
        settings.world.nowMilliseconds = { time.milliseconds.withLock { $0 } }
        settings.world.uptimeSeconds = { time.milliseconds.withLock { Double($0) / 1_000 } }
        settings.world.sleep = sleep
        // The test takes the steps itself.
        let heldBack = heldBack.union(startsLongChanges ? [] : ["long changes"])
        if !heldBack.isEmpty {
            let startTask = settings.world.startTask
            settings.world.startTask = { name, work in
                startTask(name) { if !heldBack.contains(name) { await work() } }
            }
        }
        settings.accounts = accounts
        settings.heavyThreads = heavyThreads
        service = CloudService(storage: storage, settings: settings)
        address = ContainerAddress(container: Self.container, environment: environment)
        self.time = time
    }

    var nowMilliseconds: Int64 { time.milliseconds.withLock { $0 } }

    func advance(seconds: Double) {
        time.milliseconds.withLock { $0 += Int64(seconds * 1000) }
    }

    /// - Parameter zone: a zone that the user creates.
    func person(
        _ name: String, device: String = "phone", with zone: String? = nil
    ) async throws -> Person {
        let signIn = try await service.signInForDevelopment(user: name)
        let person = Person(
            world: self, name: signIn.userRecordName, device: device,
            token: signIn.webAuthToken)
        if let zone { try await person.makeZone(zone) }
        return person
    }

    /// Alice, at a service with limits that the test changes.
    static func alice(
        _ storage: any StorageEngine = SQLiteStorageEngine.inMemory(world: .seeded(7)),
        limits change: (inout Limits) -> Void
    ) async throws -> Person {
        try await World(storage, limits: .with(change)).person("alice")
    }

    var nobody: Person { Person(world: self, name: "", device: "kiosk", token: nil) }
}

/// A user at a device.
struct Person: Sendable {
    let world: World
    /// The user record name.
    let name: String
    let device: String
    let token: String?
    /// Whether the client asks for the extensions.
    var knowsExtensions = true

    func at(_ device: String) -> Person {
        Person(
            world: world, name: name, device: device, token: token,
            knowsExtensions: knowsExtensions)
    }

    /// The same user with a client without the extensions.
    var elsewhere: Person {
        var person = self
        person.knowsExtensions = false
        return person
    }

    func ask<E: ServedEndpoint>(
        _ endpoint: E.Type, _ request: E.Request, in scope: DatabaseScope? = .private
    ) async throws -> E.Answer {
        try await world.service.respond(
            to: endpoint, request, from: credentials, at: world.address, scope: scope
        ).answer
    }

    var credentials: Credentials {
        Credentials(
            apiToken: ServiceSettings.developmentToken, webAuthToken: token, clientID: device,
            wantsExtensions: knowsExtensions)
    }

    /// The failure of a request that must fail as a whole.
    func refusal<E: ServedEndpoint>(
        _ endpoint: E.Type, _ request: E.Request, in scope: DatabaseScope? = .private
    ) async -> RequestFailure? {
        do {
            _ = try await ask(endpoint, request, in: scope)
            return nil
        } catch {
            return error as? RequestFailure
        }
    }

    func refusal(
        of operations: [RecordsModify.Operation], in zoneName: String
    ) async -> RequestFailure? {
        await refusal(RecordsModify.self, .init(operations: operations, zoneID: zone(zoneName)))
    }

    // MARK: Zones

    func makeZone(_ name: String) async throws {
        _ = try await ask(ZonesModify.self, .init(operations: [.init(.create, zone(name))]))
    }

    func deleteZone(_ name: String) async throws {
        _ = try await ask(ZonesModify.self, .init(operations: [.init(.delete, zone(name))]))
    }

    // MARK: Records

    @discardableResult
    func modify(
        _ operations: [RecordsModify.Operation], in zoneName: String? = nil, isAtomic: Bool = true,
        operationID: String? = nil, scope: DatabaseScope = .private
    ) async throws -> [RecordResult] {
        try await ask(
            RecordsModify.self,
            .init(
                operations: operations, zoneID: zoneName.map(zone), isAtomic: isAtomic,
                operationID: operationID),
            in: scope
        ).records
    }

    /// Creates huts in the zone "Trips". A minute passes after every 400, in which their cost is paid off.
    func makeHuts(_ count: Int) async throws {
        for start in stride(from: 0, to: count, by: 400) {
            try await modify(
                (start..<start + 400).map { hut(.create, "h\($0)") }, in: "Trips")
            world.advance(seconds: 60)
        }
    }

    /// A page of a query's results in the zone "Trips".
    func queryPage(
        _ query: QueryDictionary, limit: Int, after marker: String?
    ) async throws -> RecordsQuery.Answer {
        try await ask(
            RecordsQuery.self,
            .init(
                query: query, zoneID: zone("Trips"), resultsLimit: limit,
                continuationMarker: marker))
    }

    func lookup(
        _ names: [String], in zoneName: String? = nil, keys: [String]? = nil,
        scope: DatabaseScope = .private
    ) async throws -> [RecordResult] {
        try await ask(
            RecordsLookup.self,
            .init(
                records: names.map { .init(recordName: $0) }, zoneID: zoneName.map(zone),
                desiredKeys: keys), in: scope
        ).records
    }

    // MARK: Changes

    func changes(
        _ zoneName: String, since token: String? = nil, limit: Int? = nil,
        isReversed: Bool = false, types: [String]? = nil
    ) async throws -> ChangesZone.Result {
        try await ask(
            ChangesZone.self,
            .init(zones: [
                .init(
                    zoneID: zone(zoneName), syncToken: token, resultsLimit: limit,
                    desiredRecordTypes: types, isReversed: isReversed)
            ])
        ).items[0]
    }

    func page(
        _ zoneName: String, since token: String? = nil, limit: Int? = nil,
        isReversed: Bool = false, types: [String]? = nil
    ) async throws -> ChangesZone.Page {
        let result = try await changes(
            zoneName, since: token, limit: limit, isReversed: isReversed, types: types)
        switch result {
        case .success(let page): return page
        case .failure(let failure): throw failure.error
        }
    }
}

func zone(_ name: String) -> ZoneIDDictionary { ZoneIDDictionary(zoneName: name) }

/// An operation on a record of the type Hut.
func hut(
    _ kind: RecordsModify.Kind, _ name: String?, _ fields: [Field] = [], tag: String? = nil,
    type: String? = "Hut", parent: RecordDictionary.ParentChange = .absent,
    in zoneName: String? = nil
) -> RecordsModify.Operation {
    RecordsModify.Operation(
        kind,
        RecordDictionary(
            recordName: name, recordType: type, recordChangeTag: tag, fields: .values(fields),
            zoneID: zoneName.map(zone), parentRecordName: parent))
}

func beds(_ number: Int64) -> Field { Field(name: "beds", value: .int64(number)) }
func text(_ name: String, _ value: String?) -> Field {
    Field(name: name, value: value.map { .string($0) })
}

extension RecordResult {
    var record: RecordDictionary? { if case .record(let record) = self { record } else { nil } }
    var tombstone: Tombstone? { if case .deleted(let gone) = self { gone } else { nil } }
    var failed: RecordFailure? { if case .failure(let failure) = self { failure } else { nil } }
    var code: ServiceError.Code? { failed?.error.code }

    var name: String? {
        switch self {
        case .record(let record): record.recordName
        case .deleted(let gone): gone.recordName
        case .failure(let failure): failure.recordName
        }
    }

    var values: [String: FieldValue] {
        // Unreadable fields count as none, so that a test that expects them fails.
        let fields = (try? record?.fields.values()) ?? []
        return Dictionary(
            fields.compactMap { field in field.value.map { (field.name, $0) } },
            uniquingKeysWith: { first, _ in first })
    }
}
