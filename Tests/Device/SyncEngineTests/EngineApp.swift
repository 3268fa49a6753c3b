import Foundation
import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine
import StratusTesting
import Synchronization

let hutsID = CKRecordZone.ID(zoneName: "Huts")

func hut(_ name: String, in zoneID: CKRecordZone.ID = hutsID) -> CKRecord.ID {
    CKRecord.ID(recordName: name, zoneID: zoneID)
}

/// An app like Apple's sample: texts by name, the records as the service returned them, and an engine's state, kept
/// together as if in one file.
final class EngineApp: CKSyncEngineDelegate {
    /// The content of the app's file.
    struct File: Sendable {
        var texts: [String: String] = [:]
        /// The records as they were last saved or fetched.
        var known: [String: CKRecord] = [:]
        var engineState: Data?
    }

    struct State: Sendable {
        var file = File()
        var log: [String] = []
        var watchers: [(isMet: @Sendable ([String]) -> Bool, resume: @Sendable () -> Void)] = []
        var engine: CKSyncEngine?
        var resolves = true
        var onEvent: @Sendable (CKSyncEngine.Event, CKSyncEngine) async -> Void = { _, _ in }
        var batch: (@Sendable (CKSyncEngine.SendChangesContext) async -> Batch?)?
        var options: (@Sendable (CKSyncEngine.FetchChangesContext) -> Options)?
    }

    typealias Batch = CKSyncEngine.RecordZoneChangeBatch
    typealias Options = CKSyncEngine.FetchChangesOptions

    let database: CKDatabase
    let zoneID: CKRecordZone.ID
    let isAutomatic: Bool
    let state: Mutex<State>

    init(
        _ database: CKDatabase, zoneID: CKRecordZone.ID = hutsID, automatically: Bool = false,
        file: File = File()
    ) {
        self.database = database
        self.zoneID = zoneID
        isAutomatic = automatically
        state = Mutex(State(file: file))
    }

    /// The app's engine, created from the file at first use.
    var engine: CKSyncEngine {
        if let engine = state.withLock({ $0.engine }) { return engine }
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: serialization, delegate: self)
        configuration.automaticallySync = isAutomatic
        let engine = CKSyncEngine(configuration)
        state.withLock { $0.engine = engine }
        return engine
    }

    /// Drops the engine, as the end of the process would; the next engine starts from the file.
    func restart() {
        state.withLock { $0.engine = nil }
    }

    private var serialization: CKSyncEngine.State.Serialization? {
        let data = state.withLock { $0.file.engineState }
        return data.flatMap {
            // Tests that expect a state require it; here an unreadable state counts as none.
            try? JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: $0)
        }
    }

    // MARK: State for tests

    var file: File { state.withLock { $0.file } }
    var texts: [String: String] { state.withLock { $0.file.texts } }
    /// The events so far, except state updates.
    var log: [String] { state.withLock { $0.log } }

    func takeLog() -> [String] {
        state.withLock { state in
            defer { state.log = [] }
            return state.log
        }
    }

    func whenEvent(
        _ body: @escaping @Sendable (CKSyncEngine.Event, CKSyncEngine) async -> Void
    ) {
        state.withLock { $0.onEvent = body }
    }

    func batch(_ body: (@Sendable (CKSyncEngine.SendChangesContext) async -> Batch?)?) {
        state.withLock { $0.batch = body }
    }

    func options(_ body: (@Sendable (CKSyncEngine.FetchChangesContext) -> Options)?) {
        state.withLock { $0.options = body }
    }

    /// Sends until no change fails; the app resolves each failure, or the engine retries.
    func sendAll() async throws {
        for _ in 0..<10 {
            // The events report the failures; at the end there are none.
            do { return try await engine.sendChanges() } catch CKError.partialFailure {}
        }
        try await engine.sendChanges()
    }

    /// Leaves failures unresolved.
    func resolveNothing() { state.withLock { $0.resolves = false } }

    /// Waits until the log meets a condition.
    func waitForLog(_ isMet: @escaping @Sendable ([String]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if isMet(state.log) { return true }
                state.watchers.append((isMet, { continuation.resume() }))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    // MARK: Actions of a person

    func write(_ name: String, _ text: String) {
        state.withLock { $0.file.texts[name] = text }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(hut(name, in: zoneID))])
    }

    func erase(_ name: String) {
        state.withLock { state in
            state.file.texts[name] = nil
            state.file.known[name] = nil
        }
        engine.state.add(pendingRecordZoneChanges: [.deleteRecord(hut(name, in: zoneID))])
    }

    func makeZone() {
        engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
    }
}

/// A cloud, and its users' devices, each with an engine.
struct EngineWorld {
    static let container = "iCloud.org.example.Huts"
    let cloud: TestCloud

    init(_ cloud: TestCloud = TestCloud()) {
        self.cloud = cloud
    }

    func app(
        _ device: String, user: String? = "ida", automatically: Bool = false,
        clock: TestClock? = nil
    ) async throws -> EngineApp {
        let connection = try await cloud.connect(
            user: user, device: device, world: clock?.world ?? .init())
        let container = CKContainer(identifier: Self.container, connection: connection)
        return EngineApp(container.privateCloudDatabase, automatically: automatically)
    }

    /// Two devices: the phone has sent the huts `a` and `b`, and the tablet has fetched nothing.
    func unfetchedPair() async throws -> (phone: EngineApp, tablet: EngineApp) {
        let phone = try await app("phone")
        let tablet = try await app("tablet")
        phone.makeZone()
        for name in ["a", "b"] { phone.write(name, "1") }
        try await phone.engine.sendChanges()
        return (phone, tablet)
    }

    /// Two devices that have fetched the zone and one hut, with nothing left to sync.
    func pair() async throws -> (phone: EngineApp, tablet: EngineApp) {
        let phone = try await app("phone")
        let tablet = try await app("tablet")
        phone.makeZone()
        phone.write("a", "1")
        try await phone.engine.sendChanges()
        try await phone.engine.fetchChanges()
        try await tablet.engine.fetchChanges()
        _ = phone.takeLog()
        _ = tablet.takeLog()
        return (phone, tablet)
    }
}
