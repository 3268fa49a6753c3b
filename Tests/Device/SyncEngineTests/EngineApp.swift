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

    private struct State: Sendable {
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
    private let state: Mutex<State>

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

    // MARK: The delegate

    func nextFetchChangesOptions(
        _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.FetchChangesOptions {
        state.withLock { $0.options }?(context) ?? context.options
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        if let batch = state.withLock({ $0.batch }) { return await batch(context) }
        let changes = syncEngine.state.pendingRecordZoneChanges.filter {
            context.options.scope.contains($0)
        }
        return await Batch(pendingChanges: changes) { recordID in
            guard let record = self.record(recordID) else {
                syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
                return nil
            }
            return record
        }
    }

    /// The record to send: as the service knows it, with the app's text.
    func record(_ recordID: CKRecord.ID) -> CKRecord? {
        state.withLock { state in
            guard let text = state.file.texts[recordID.recordName] else { return nil }
            let known = state.file.known[recordID.recordName]
            let record =
                known?.copy() as? CKRecord ?? CKRecord(recordType: "Hut", recordID: recordID)
            if record["text"] as? String != text { record["text"] = text }
            return record
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        await state.withLock { $0.onEvent }(event, syncEngine)
        let resolves = state.withLock { $0.resolves }
        switch event {
        case .stateUpdate(let update):
            // The state can always be written.
            let data = try? JSONEncoder().encode(update.stateSerialization)
            state.withLock { $0.file.engineState = data }
        case .accountChange(let change): handle(change, syncEngine)
        case .fetchedDatabaseChanges(let changes): handle(changes, syncEngine)
        case .fetchedRecordZoneChanges(let changes): handle(changes, syncEngine)
        case .sentRecordZoneChanges(let changes): handle(changes, syncEngine, resolves)
        default: break
        }
        note(event)
    }

    private func note(_ event: CKSyncEngine.Event) {
        guard let line = event.line else { return }
        if ProcessInfo.processInfo.environment["ENGINE_LOG"] != nil {
            print("\(database.container.connection.deviceID) \(line)")
        }
        let resumes = state.withLock { state in
            state.log.append(line)
            let log = state.log
            let met = state.watchers.filter { $0.isMet(log) }
            state.watchers.removeAll { $0.isMet(log) }
            return met.map(\.resume)
        }
        for resume in resumes { resume() }
    }

    private func handle(
        _ change: CKSyncEngine.Event.AccountChange, _ engine: CKSyncEngine
    ) {
        switch change.changeType {
        case .signIn:
            let names = state.withLock { state in
                state.file.known = [:]
                return Array(state.file.texts.keys)
            }
            engine.state.add(
                pendingRecordZoneChanges: names.sorted().map { .saveRecord(hut($0, in: zoneID)) })
        case .signOut, .switchAccounts:
            state.withLock { state in
                state.file.texts = [:]
                state.file.known = [:]
            }
        }
    }

    private func handle(
        _ changes: CKSyncEngine.Event.FetchedDatabaseChanges, _ engine: CKSyncEngine
    ) {
        for deletion in changes.deletions where deletion.zoneID == zoneID {
            switch deletion.reason {
            case .deleted, .purged:
                let names = state.withLock { state in
                    defer {
                        state.file.texts = [:]
                        state.file.known = [:]
                    }
                    return Set(state.file.texts.keys).union(state.file.known.keys)
                }
                engine.state.remove(
                    pendingRecordZoneChanges: names.flatMap {
                        [.saveRecord(hut($0, in: zoneID)), .deleteRecord(hut($0, in: zoneID))]
                    })
            case .encryptedDataReset:
                let names = state.withLock { state in
                    state.file.known = [:]
                    return Array(state.file.texts.keys)
                }
                engine.state.add(
                    pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
                engine.state.add(
                    pendingRecordZoneChanges: names.sorted().map {
                        .saveRecord(hut($0, in: zoneID))
                    })
            }
        }
    }

    private func handle(
        _ changes: CKSyncEngine.Event.FetchedRecordZoneChanges, _ engine: CKSyncEngine
    ) {
        let pending = Set(engine.state.pendingRecordZoneChanges)
        state.withLock { state in
            for modification in changes.modifications {
                let record = modification.record
                let name = record.recordID.recordName
                if pending.contains(.deleteRecord(record.recordID)) { continue }
                state.file.known[name] = record
                if !pending.contains(.saveRecord(record.recordID)) {
                    state.file.texts[name] = record["text"]
                }
            }
            for deletion in changes.deletions {
                let name = deletion.recordID.recordName
                state.file.known[name] = nil
                // An edit of a deleted record makes it anew.
                if !pending.contains(.saveRecord(deletion.recordID)) {
                    state.file.texts[name] = nil
                }
            }
        }
    }

    private func handle(
        _ changes: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine,
        _ resolves: Bool
    ) {
        var again: [CKSyncEngine.PendingRecordZoneChange] = []
        var needsZone = false
        state.withLock { state in
            for record in changes.savedRecords {
                state.file.known[record.recordID.recordName] = record
            }
            guard resolves else { return }
            for failure in changes.failedRecordSaves {
                let recordID = failure.record.recordID
                let name = recordID.recordName
                switch failure.error.code {
                case .serverRecordChanged:
                    guard let server = failure.error.serverRecord else { continue }
                    state.file.known[name] = server
                    let theirs: String = server["text"] ?? ""
                    // The greater text wins, on every device.
                    if let ours = state.file.texts[name], ours > theirs {
                        again.append(.saveRecord(recordID))
                    } else if state.file.texts[name] != nil {
                        state.file.texts[name] = theirs
                    }
                case .zoneNotFound:
                    state.file.known[name] = nil
                    needsZone = true
                    again.append(.saveRecord(recordID))
                case .unknownItem:
                    state.file.known[name] = nil
                    again.append(.saveRecord(recordID))
                case .limitExceeded: again.append(.saveRecord(recordID))
                default: break
                }
            }
            // One change alone is never too many: the engine leaves it to the app, a deletion too.
            for (recordID, error) in changes.failedRecordDeletes where error.code == .limitExceeded
            {
                again.append(.deleteRecord(recordID))
            }
        }
        if needsZone {
            engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        }
        engine.state.add(pendingRecordZoneChanges: again)
    }
}

extension CKSyncEngine.Event {
    /// The event in one line, without what differs from run to run; nil for the state's.
    var line: String? {
        switch self {
        case .stateUpdate: return nil
        case .accountChange(let event):
            switch event.changeType {
            case .signIn: return "signIn"
            case .signOut: return "signOut"
            case .switchAccounts: return "switchAccounts"
            }
        case .fetchedDatabaseChanges(let event):
            return
                (["zones"] + event.modifications.map { "+\($0.zoneID.zoneName)" }.sorted()
                + event.deletions.map { "-\($0.zoneID.zoneName) \($0.reason)" }.sorted())
                .joined(separator: " ")
        case .fetchedRecordZoneChanges(let event):
            return
                (["fetched"] + event.modifications.map { "+\($0.record.recordID.recordName)" }
                + event.deletions.map { "-\($0.recordID.recordName)" }).joined(separator: " ")
        case .sentDatabaseChanges(let event):
            var words = ["sentZones"] + event.savedZones.map { "+\($0.zoneID.zoneName)" }
            words += event.deletedZoneIDs.map { "-\($0.zoneName)" }
            words += event.failedZoneSaves.map { "+\($0.zone.zoneID.zoneName)!\($0.error.code)" }
            words += event.failedZoneDeletes.map { "-\($0.key.zoneName)!\($0.value.code)" }
            return words.joined(separator: " ")
        case .sentRecordZoneChanges(let event):
            var words = ["sent"] + event.savedRecords.map { "+\($0.recordID.recordName)" }
            words += event.deletedRecordIDs.map { "-\($0.recordName)" }
            words += event.failedRecordSaves.map {
                "+\($0.record.recordID.recordName)!\($0.error.code)"
            }
            words += event.failedRecordDeletes.map { "-\($0.key.recordName)!\($0.value.code)" }
            return words.joined(separator: " ")
        case .willFetchChanges(let event): return "willFetch \(event.context.reason)"
        case .willFetchRecordZoneChanges(let event): return "willFetch \(event.zoneID.zoneName)"
        case .didFetchRecordZoneChanges(let event):
            return "didFetch \(event.zoneID.zoneName)" + (event.error.map { "!\($0.code)" } ?? "")
        case .didFetchChanges(let event): return "didFetch \(event.context.reason)"
        case .willSendChanges(let event): return "willSend \(event.context.reason)"
        case .didSendChanges(let event): return "didSend \(event.context.reason)"
        }
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
