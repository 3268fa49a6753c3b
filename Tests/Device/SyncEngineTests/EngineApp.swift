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

/// An app as Apple's sample is one: texts by name, the records as the service knows them, and an
/// engine's state, kept together as in one file.
final class EngineApp: CKSyncEngineDelegate {
    /// What is in the app's file.
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

    /// The app's engine; made of its file when it is first asked for.
    var engine: CKSyncEngine {
        if let engine = state.withLock({ $0.engine }) { return engine }
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: serialization, delegate: self)
        configuration.automaticallySync = isAutomatic
        let engine = CKSyncEngine(configuration)
        state.withLock { $0.engine = engine }
        return engine
    }

    /// The engine dies with its process; the next one knows what is in the file.
    func restart() {
        state.withLock { $0.engine = nil }
    }

    private var serialization: CKSyncEngine.State.Serialization? {
        let data = state.withLock { $0.file.engineState }
        // A test that expects a state asks for it; here a bad one is none.
        return data.flatMap {
            try? JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: $0)
        }
    }

    // MARK: What a test looks at and sets

    var file: File { state.withLock { $0.file } }
    var texts: [String: String] { state.withLock { $0.file.texts } }
    /// The events so far, but for the state's.
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

    /// Sends again after each failure, which the app has resolved or the engine repeats.
    func sendAll() async throws {
        for _ in 0..<10 {
            // What failed is in the events; in the end nothing does.
            do { return try await engine.sendChanges() } catch CKError.partialFailure {}
        }
        try await engine.sendChanges()
    }

    /// Leaves failures as they are.
    func resolveNothing() { state.withLock { $0.resolves = false } }

    /// Waits until the log is so.
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

    // MARK: What a person does

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

/// A cloud, and the devices of its users as engines drive them.
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

    /// Two devices that have the zone and one hut, and nothing to do.
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
