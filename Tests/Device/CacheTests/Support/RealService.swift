import StratusClient
import StratusRecords
import StratusRuntime
import StratusSchema
import StratusService
import StratusStorage
import StratusSync
import StratusTesting
import Synchronization

@testable import StratusCache

/// The real service in process: `CloudService` over SQLite in memory, with small pages and its own clock.
///
/// Devices connect through a ``ServiceLink``. This type does what only an operator or time does to a service: it
/// restores an older copy, changes limits, purges tombstones, and lets half a year pass.
final class RealService: Sendable {
    /// All data of the service, as in an operator's copy.
    struct Copy: Sendable {
        fileprivate var storage: SQLiteStorageEngine
    }

    /// Changes and look-ups that the links to the service refuse, on any device.
    struct Refusals {
        var records: [String: SyncFailure] = [:]
        var lookups: [String: SyncFailure] = [:]
        var zones: [ZoneID: SyncFailure] = [:]
    }

    private struct State {
        var storage: SQLiteStorageEngine
        var service: CloudService
        var limits: Limits
        /// The number of services so far; a session belongs to one of them.
        var generation = 0
        var linkCount = 0
        var environment = ContainerEnvironment.development
    }

    static let container = CloudDevice.container

    /// The service's clock; it advances by a second with each batch of records, and when a test advances it.
    let time = TestTime(skewMilliseconds: 1_704_067_200_000)
    /// The keys of encrypted values, shared by all devices.
    let keyStore = MemoryKeyStore()
    let refusals = Mutex(Refusals())
    private let saves = Mutex(0)
    private let state: Mutex<State>

    /// - Parameter pageSize: The number of records, or zones, on a page of changes.
    init(pageSize: Int = 3) {
        var limits = Limits()
        limits.recordsPerPage = pageSize
        limits.maximumRecordsPerPage = pageSize
        // So that tokens expire within half a year.
        limits.changeTokenSeconds = limits.tombstoneSeconds
        let storage = SQLiteStorageEngine.inMemory()
        state = Mutex(
            State(
                storage: storage, service: Self.service(on: storage, limits, time), limits: limits))
    }

    private static func service(
        on storage: SQLiteStorageEngine, _ limits: Limits, _ time: TestTime
    ) -> CloudService {
        CloudService(
            storage: storage,
            settings: ServiceSettings(
                isForDevelopment: true, limits: limits,
                world: World(nowMilliseconds: time.world.nowMilliseconds)))
    }

    var current: (service: CloudService, generation: Int) {
        state.withLock { ($0.service, $0.generation) }
    }

    var nowMilliseconds: Int64 { time.world.nowMilliseconds() }

    var environment: ContainerEnvironment { state.withLock { $0.environment } }

    /// A name for another device.
    func newDevice() -> String {
        state.withLock { state in
            state.linkCount += 1
            return "device \(state.linkCount)"
        }
    }

    /// The number of successful saves of records.
    var saveCount: Int { saves.withLock { $0 } }

    func noteSaves(_ count: Int) { saves.withLock { $0 += count } }

    // MARK: Faults

    /// Refuses every save and deletion of a record with this name.
    func refuse(_ name: String, _ failure: SyncFailure) {
        refusals.withLock { $0.records[name] = failure }
    }

    /// Refuses to return a record that is requested by its name; nil ends this.
    func refuseLookups(of name: String, _ failure: SyncFailure?) {
        refusals.withLock { $0.lookups[name] = failure }
    }

    /// Refuses to create or delete the zone.
    func refuse(_ zone: ZoneID, _ failure: SyncFailure) {
        refusals.withLock { $0.zones[zone] = failure }
    }

    func refuseNothing() { refusals.withLock { $0 = Refusals() } }

    /// Restarts the service with other limits.
    func restart(_ change: (inout Limits) -> Void) {
        state.withLock { state in
            change(&state.limits)
            state.service = Self.service(on: state.storage, state.limits, time)
            state.generation += 1
        }
    }

    /// Takes a copy of all data, as a backup.
    func copy() throws -> Copy {
        try Copy(storage: state.withLock { try $0.storage.copyInMemory(world: .live) })
    }

    /// Restores a copy; later changes are lost.
    func restore(_ copy: Copy) throws {
        let storage = try copy.storage.copyInMemory(world: .live)
        state.withLock { state in
            state.storage = storage
            state.service = Self.service(on: storage, state.limits, time)
            state.generation += 1
        }
    }

    /// Lets devices sync a change that is then lost.
    func lose(on devices: Device..., change: () throws -> Void) async throws {
        let copy = try copy()
        try change()
        for device in devices { try await device.sync() }
        try restore(copy)
    }

    /// Advances the time, on every device.
    func pass(milliseconds: Int64 = 1_000) { time.advance(milliseconds: milliseconds) }

    /// Purges all tombstones.
    func purgeTombstones() async throws {
        pass()
        _ = try await current.service.purgeTombstones(olderThanSeconds: 0)
    }

    /// Lets half a year pass: all change tokens expire, and tombstones are purged.
    func expireTokens() async throws {
        let seconds = state.withLock { $0.limits.changeTokenSeconds }
        pass(milliseconds: Int64(seconds) * 1_000 + 1_000)
        try await purgeTombstones()
    }

    /// Changes to production with this schema, which saves do not extend.
    ///
    /// - Parameter schema: The schema in the schema language.
    func deploy(_ schema: String) async throws {
        let schemas = current.service.schemaDeployment(of: Self.container)
        try await schemas.replace(with: ContainerSchema(text: schema))
        try await schemas.deploy()
        state.withLock { $0.environment = .production }
    }
}
