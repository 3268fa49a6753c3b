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

/// The real service in process: `CloudService` over SQLite in memory, with small pages and a clock of its own.
///
/// Devices come over a ``ServiceLink``. What only an operator or time does to a service is here: an older copy put
/// back, other limits, what was deleted forgotten, half a year.
final class RealService: Sendable {
    /// All that the service has, as an operator's copy.
    struct Copy: Sendable {
        fileprivate var storage: SQLiteStorageEngine
    }

    /// What the ways to the service refuse, whoever asks.
    struct Refusals {
        var records: [String: SyncFailure] = [:]
        var zones: [ZoneID: SyncFailure] = [:]
    }

    private struct State {
        var storage: SQLiteStorageEngine
        var service: CloudService
        var limits: Limits
        /// How many services there were: a session is one's.
        var generation = 0
        var linkCount = 0
        var environment = ContainerEnvironment.development
    }

    static let container = CloudDevice.container

    /// Of the service; it goes on by a second with each batch of records, and as a test says.
    let time = TestTime(skewMilliseconds: 1_704_067_200_000)
    /// The keys of encrypted values, shared by all devices.
    let keyStore = MemoryKeyStore()
    let refusals = Mutex(Refusals())
    private let saves = Mutex(0)
    private let state: Mutex<State>

    /// - Parameter pageSize: records, or zones, of a page of changes.
    init(pageSize: Int = 3) {
        var limits = Limits()
        limits.recordsPerPage = pageSize
        limits.maximumRecordsPerPage = pageSize
        // So that half a year makes them expire.
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

    /// A name for one more device.
    func newDevice() -> String {
        state.withLock { state in
            state.linkCount += 1
            return "device \(state.linkCount)"
        }
    }

    /// How many saves of records were answered with success.
    var saveCount: Int { saves.withLock { $0 } }

    func noteSaves(_ count: Int) { saves.withLock { $0 += count } }

    // MARK: What goes wrong

    /// Every save and deletion of a record of this name is refused.
    func refuse(_ name: String, _ failure: SyncFailure) {
        refusals.withLock { $0.records[name] = failure }
    }

    /// The zone is neither made nor deleted.
    func refuse(_ zone: ZoneID, _ failure: SyncFailure) {
        refusals.withLock { $0.zones[zone] = failure }
    }

    func refuseNothing() { refusals.withLock { $0 = Refusals() } }

    /// The service begins again, with other limits.
    func restart(_ change: (inout Limits) -> Void) {
        state.withLock { state in
            change(&state.limits)
            state.service = Self.service(on: state.storage, state.limits, time)
            state.generation += 1
        }
    }

    /// Takes a copy of all that there is, as a back-up.
    func copy() throws -> Copy {
        try Copy(storage: state.withLock { try $0.storage.copyInMemory(world: .live) })
    }

    /// Puts a copy back. What came since is lost.
    func restore(_ copy: Copy) throws {
        let storage = try copy.storage.copyInMemory(world: .live)
        state.withLock { state in
            state.storage = storage
            state.service = Self.service(on: storage, state.limits, time)
            state.generation += 1
        }
    }

    /// Devices sync a change that is lost again.
    func lose(on devices: Device..., change: () throws -> Void) async throws {
        let copy = try copy()
        try change()
        for device in devices { try await device.sync() }
        try restore(copy)
    }

    /// Time goes by, on every device.
    func pass(milliseconds: Int64 = 1_000) { time.advance(milliseconds: milliseconds) }

    /// Forgets what was deleted.
    func purgeTombstones() async throws {
        pass()
        _ = try await current.service.purgeTombstones(olderThanSeconds: 0)
    }

    /// Half a year goes by: no change token counts any more, and what was deleted is forgotten.
    func expireTokens() async throws {
        let seconds = state.withLock { $0.limits.changeTokenSeconds }
        pass(milliseconds: Int64(seconds) * 1_000 + 1_000)
        try await purgeTombstones()
    }

    /// The schema is that of production from now on, where no save adds to it.
    ///
    /// - Parameter schema: in the schema language.
    func deploy(_ schema: String) async throws {
        let schemas = current.service.schemaDeployment(of: Self.container)
        try await schemas.replace(with: ContainerSchema(text: schema))
        try await schemas.deploy()
        state.withLock { $0.environment = .production }
    }
}
