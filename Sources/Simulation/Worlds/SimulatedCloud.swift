import StratusClient
import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import Synchronization

/// The service of a simulated world; it may be replaced by one that was restored from an older copy.
final class SimulatedCloud: Sendable {
    enum PushFault {
        case dropped
        case doubled
    }

    private struct State {
        var service: CloudService
        var storage: SQLiteStorageEngine
        var generation = 0
        var copy: Copy?
        var pushes: SeededNumbers
        var pushRate: Double
        var lines: [String] = []
        var requestCount = 0
        /// How often the service's process ended.
        var endCount = 0
        var isRunning = true
        /// When the disk has room again.
        var fullUntilMilliseconds: Int64 = 0
        var trouble: String?
        /// Users who were notified unnecessarily that the history of a zone is lost.
        var misledUsers: Set<String> = []
    }

    /// A copy of what a service had at one moment.
    private enum Copy {
        case memory(SQLiteStorageEngine)
        /// The folder of a snapshot.
        case folder(String)
    }

    /// The service cannot continue.
    struct Lost: Error, CustomStringConvertible {
        var description: String
    }

    /// How long the service remembers deletions.
    static let tombstoneSeconds = 20 * 86_400
    static let container = "iCloud.org.example.Simulation"

    let world: SeededWorld
    private let keepsLines: Bool
    private let table: FaultTable
    /// The disk of its files; nil in memory.
    private let disk: SimulatedDisk?
    private let state: Mutex<State>

    /// Makes a service in memory.
    convenience init(_ world: SeededWorld, pushRate: Double, keepsLines: Bool, table: FaultTable) {
        self.init(
            world, pushRate: pushRate, keepsLines: keepsLines, table: table, disk: nil,
            storage: SQLiteStorageEngine.inMemory(world: world.world("storage")))
    }

    /// Makes a service with its files on a disk.
    convenience init(
        _ world: SeededWorld, pushRate: Double, keepsLines: Bool, table: FaultTable,
        on disk: SimulatedDisk
    ) throws {
        self.init(
            world, pushRate: pushRate, keepsLines: keepsLines, table: table, disk: disk,
            storage: try Self.storage(on: disk, world, 0))
    }

    private init(
        _ world: SeededWorld, pushRate: Double, keepsLines: Bool, table: FaultTable,
        disk: SimulatedDisk?, storage: SQLiteStorageEngine
    ) {
        self.world = world
        self.keepsLines = keepsLines
        self.table = table
        self.disk = disk
        state = Mutex(
            State(
                service: Self.service(storage, world, 0), storage: storage,
                pushes: SeededNumbers(seed: world.seed ^ 0x5055_5348), pushRate: pushRate))
    }

    private static func storage(
        on disk: SimulatedDisk, _ world: SeededWorld, _ generation: Int
    ) throws -> SQLiteStorageEngine {
        var limits = StorageLimits()
        limits.reserveBytes = 0
        // Low, so that the log is moved into the file during a world.
        limits.logPagesBeforeCheckpoint = 20
        return try SQLiteStorageEngine(
            folder: disk.path, limits: limits, world: world.world("storage \(generation)"))
    }

    private static func service(
        _ storage: SQLiteStorageEngine, _ world: SeededWorld, _ generation: Int
    ) -> CloudService {
        var limits = Limits()
        // Tombstones are purged within the months that a device may be offline.
        limits.purgeIntervalSeconds = 3_600
        limits.tombstoneSeconds = Double(tombstoneSeconds)
        limits.tombstoneShare = 0.1
        return CloudService(
            storage: storage,
            settings: ServiceSettings(
                isForDevelopment: true, limits: limits,
                world: world.world("service \(generation)")))
    }

    var current: (service: CloudService, generation: Int) {
        state.withLock { ($0.service, $0.generation) }
    }

    /// Notes what happened: for the trace, and for the story of a seed that failed.
    func note(_ device: String, _ what: String, _ how: String) {
        state.withLock { $0.requestCount += how == "answered" ? 1 : 0 }
        let line = "\(world.nowMilliseconds) \(device) \(what) \(how)"
        world.note(line)
        if keepsLines { state.withLock { $0.lines.append(line) } }
    }

    /// Adds a text to the story of a seed that its trace does not need.
    func explain(_ device: String, _ text: @autoclosure () -> String) {
        guard keepsLines else { return }
        let line = "\(world.nowMilliseconds) \(device)     \(text())"
        state.withLock { $0.lines.append(line) }
    }

    /// How many requests were answered.
    var requestCount: Int { state.withLock { $0.requestCount } }

    var lines: [String] { state.withLock { $0.lines } }

    func pushFault(for device: String, _ dice: FaultDice) -> PushFault? {
        let fault = state.withLock { state -> PushFault? in
            let chance = Double(state.pushes.next() >> 11) * 0x1p-53
            if chance >= state.pushRate { return nil }
            return chance < state.pushRate * 0.6 ? .dropped : .doubled
        }
        if let fault {
            table.count(fault == .dropped ? "push dropped" : "push doubled", "notifications")
            note(device, "push", "\(fault)")
        }
        return fault
    }

    /// Counts a fault that is not one of a single request, when it happens.
    func count(_ fault: String) { table.count(fault, "steps") }

    func endFaults() {
        state.withLock { state in
            state.pushRate = 0
            state.fullUntilMilliseconds = 0
        }
        current.service.faults?.clear()
        disk?.endTrouble()
    }

    // MARK: A full disk

    /// Lets the service refuse what needs room for a while. Its files have room: only its answers are as they would be.
    func fillDisk(seconds: Int) {
        let end = world.nowMilliseconds + Int64(seconds) * 1_000
        state.withLock { $0.fullUntilMilliseconds = max($0.fullUntilMilliseconds, end) }
    }

    /// Checks a request that needs room.
    ///
    /// - Throws: `ServiceFailure` while the service's disk is full.
    func checkRoom(for path: String) throws {
        let end = state.withLock { $0.fullUntilMilliseconds }
        guard world.nowMilliseconds < end else { return }
        table.count(FullService.fault, path)
        throw ServiceFailure(FullService.refusal)
    }

    // MARK: A process that ends

    /// How often the service's process ended; the answers of an ended process do not arrive.
    var endCount: Int { state.withLock { $0.endCount } }

    var isRunning: Bool { state.withLock { $0.isRunning } }

    /// Why the service failed; nil if it did not.
    var trouble: String? { state.withLock { $0.trouble } ?? disk?.trouble.map { "\($0)" } }

    /// Ends the process before one of its next writes; another one begins some seconds later.
    func endService(_ end: SimulatedDisk.End, later: Int) {
        disk?.end(end, later: later) { [self] in
            state.withLock { state in
                state.endCount += 1
                state.isRunning = false
            }
            note("service", "ended", "\(end)")
            count(end == .killed ? "service killed" : "service without power")
            _ = world.world("operator").startTask("service begins again") { [self] in
                // Fails when the world has ended.
                if (try? await world.pass(seconds: 5)) != nil { beginAgain() }
            }
        }
    }

    private func beginAgain() {
        // It is running already if a copy was restored meanwhile.
        guard let disk, !isRunning else { return }
        let generation = current.generation + 1
        do {
            begin(try Self.storage(on: disk, world, generation), generation)
            note("service", "began again", "")
        } catch {
            state.withLock { $0.trouble = "the service does not begin again: \(error)" }
        }
    }

    private func begin(_ storage: SQLiteStorageEngine, _ generation: Int) {
        let service = Self.service(storage, world, generation)
        state.withLock { state in
            state.storage = storage
            state.service = service
            state.generation = generation
            state.isRunning = true
        }
    }

    /// The service, as soon as there is one.
    func running() async throws -> CloudService {
        while !isRunning {
            if let trouble { throw Lost(description: trouble) }
            try await world.pass(seconds: 1)
        }
        return current.service
    }

    // MARK: What only an operator or the user does

    /// Makes every token in the next request to an endpoint expire, from any of the user's devices.
    func expireTokens(of path: String, userRecordName: String) {
        if path == ChangesZone.path {
            state.withLock { _ = $0.misledUsers.insert(userRecordName) }
        }
        // The script has room for 1,000, and each is used by the request for which it was added.
        try? current.service.faults?.add([
            Fault(.expireChangeTokens, operation: path, userRecordName: userRecordName)
        ])
    }

    /// Whether a device of the user was notified unnecessarily that the history of a zone is lost.
    func isMisled(_ userRecordName: String) -> Bool {
        state.withLock { $0.misledUsers.contains(userRecordName) }
    }

    /// Purges the zone before the user's next request, as when the user removed the app's data.
    func purge(_ zone: String, userRecordName: String) {
        // As above.
        try? current.service.faults?.add([
            Fault(.resetZone(.purged), userRecordName: userRecordName, zoneName: zone)
        ])
    }

    /// The bytes of all assets that the service keeps.
    func storedAssets() async throws -> [[UInt8]] {
        let storage = state.withLock { $0.storage }
        var assets: [[UInt8]] = []
        for database in try await storage.databasesWithBlobs() {
            let blobs = try await storage.blobs(for: database)
            for byte in UInt8.min ... .max {
                for blob in try await blobs.blobs(beginningWith: byte) {
                    guard let reader = try await blobs.open(blob.name) else { continue }
                    assets.append(try await reader.read(at: 0, count: Int(reader.sizeBytes)))
                }
            }
        }
        return assets
    }

    /// Takes a copy of everything that the service has.
    func takeCopy() throws {
        let copy: Copy
        if let disk {
            copy = .folder(try disk.takeSnapshot())
        } else {
            let storage = state.withLock { $0.storage }
            copy = .memory(try storage.copyInMemory(world: world.world("copy")))
        }
        state.withLock { $0.copy = copy }
    }

    /// Replaces what the service has by the copy: later changes are lost there.
    ///
    /// - Returns: whether there was one.
    func restoreCopy() throws -> Bool {
        guard let copy = state.withLock({ $0.copy }) else { return false }
        let generation = current.generation + 1
        let storage: SQLiteStorageEngine
        switch copy {
        case .memory(let copy):
            storage = try copy.copyInMemory(world: world.world("storage \(generation)"))
        case .folder(let snapshot):
            guard let disk else { return false }
            try disk.restore(snapshot)
            storage = try Self.storage(on: disk, world, generation)
        }
        begin(storage, generation)
        return true
    }
}
