import StratusClient
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// The engine's calls to its delegate, and their contexts.
@Suite struct EngineDelegateTests {
    /// Returns what the engine proposes, and records the calls.
    private final class KeepingDelegate: CKSyncEngineDelegate {
        private let questions = Mutex<[String]>([])

        var asked: [String] { questions.withLock { $0 } }

        func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
            guard case .fetchedRecordZoneChanges(let changes) = event else { return }
            questions.withLock { $0.append("fetched \(changes.modifications.count)") }
        }

        func nextFetchChangesOptions(
            _ context: CKSyncEngine.FetchChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.FetchChangesOptions {
            questions.withLock { $0.append("options \(context.reason)") }
            return context.options
        }

        func nextRecordZoneChangeBatch(
            _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
        ) async -> CKSyncEngine.RecordZoneChangeBatch? {
            let changes = syncEngine.state.pendingRecordZoneChanges.filter {
                context.options.scope.contains($0)
            }
            questions.withLock { $0.append("batch \(context.reason) \(changes.count)") }
            return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) {
                CKRecord(recordType: "Hut", recordID: $0)
            }
        }
    }

    @Test func delegateIsAskedForBatchesAndOptions() async throws {
        let world = EngineWorld()
        let database = try await world.app("phone").database
        let delegate = KeepingDelegate()
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: nil, delegate: delegate)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        let state: CKSyncEngine.State = engine.state
        state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: hutsID))])
        state.add(pendingRecordZoneChanges: [.saveRecord(hut("a"))])

        try await engine.sendChanges()
        #expect(state.pendingRecordZoneChanges.isEmpty)
        #expect(delegate.asked.first == "batch manual 1")

        let other = try await world.app("tablet").database
        _ = try await other.save(CKRecord(recordType: "Hut", recordID: hut("b")))
        try await engine.fetchChanges()
        #expect(delegate.asked.contains("options manual"))
        #expect(delegate.asked.last?.hasPrefix("fetched") == true)
    }

    @Test func failuresNameTheirZoneAndRecord() async throws {
        let world = EngineWorld()
        let phone = try await world.app("phone")
        phone.resolveNothing()
        let failures = Mutex<[String]>([])
        phone.whenEvent { event, _ in
            let lines: [String] =
                switch event {
                case .sentDatabaseChanges(let sent):
                    sent.failedZoneSaves.map { "\($0.zone.zoneID.zoneName) \($0.error.code)" }
                case .sentRecordZoneChanges(let sent):
                    sent.failedRecordSaves.map {
                        "\($0.record.recordID.recordName) \($0.error.code)"
                    }
                default: []
                }
            failures.withLock { $0 += lines }
        }
        // The record's zone does not exist yet.
        phone.write("a", "1")
        #expect(await codeOf { try await phone.engine.sendChanges() } != nil)
        world.cloud.faults.next(
            of: ZonesModify.self,
            .answer(.badRequest, frameworkCode: .quotaExceeded))
        phone.makeZone()
        #expect(await codeOf { try await phone.engine.sendChanges() } != nil)
        #expect(failures.withLock { $0 } == ["a zoneNotFound", "Huts quotaExceeded"])
    }
}
