import StratusClient
import StratusSync
import StratusSyncEngine
import Synchronization
import Testing

/// The parts of events, and the options of the engine's calls.
@Suite struct EngineSymbolTests {
    /// The parts of a round's events, each read through its type's name.
    private static func parts(_ event: CKSyncEngine.Event) -> String? {
        switch event {
        case .stateUpdate(let received):
            let update: CKSyncEngine.Event.StateUpdate = received
            let state: CKSyncEngine.State.Serialization? = update.stateSerialization
            return state == nil ? "no state" : nil
        case .accountChange(let received):
            let change: CKSyncEngine.Event.AccountChange.ChangeType = received.changeType
            guard case .signIn = change else { return "no sign-in" }
            return "signIn"
        case .willFetchChanges(let received):
            let will: CKSyncEngine.Event.WillFetchChanges = received
            return "willFetch \(will.context.reason)"
        case .willFetchRecordZoneChanges(let received):
            let will: CKSyncEngine.Event.WillFetchRecordZoneChanges = received
            return "will \(will.zoneID.zoneName)"
        case .didFetchRecordZoneChanges(let received):
            let did: CKSyncEngine.Event.DidFetchRecordZoneChanges = received
            return "did \(did.zoneID.zoneName) \(did.error == nil)"
        case .didFetchChanges(let received):
            let did: CKSyncEngine.Event.DidFetchChanges = received
            return "didFetch \(did.context.reason)"
        case .willSendChanges(let received):
            let will: CKSyncEngine.Event.WillSendChanges = received
            return "willSend \(will.context.reason)"
        case .didSendChanges(let received):
            let did: CKSyncEngine.Event.DidSendChanges = received
            return "didSend \(did.context.reason)"
        default: return items(event)
        }
    }

    private static func items(_ event: CKSyncEngine.Event) -> String? {
        switch event {
        case .sentDatabaseChanges(let received):
            let sent: CKSyncEngine.Event.SentDatabaseChanges = received
            let failed: [CKSyncEngine.Event.SentDatabaseChanges.FailedZoneSave] =
                sent.failedZoneSaves
            return "zones \(sent.savedZones.count) \(failed.map(\.error.code).count) "
                + "\(sent.deletedZoneIDs.count) \(sent.failedZoneDeletes.count)"
        case .sentRecordZoneChanges(let received):
            let sent: CKSyncEngine.Event.SentRecordZoneChanges = received
            let failed: [CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave] =
                sent.failedRecordSaves
            return "records \(sent.savedRecords.count) \(failed.map(\.error.code).count) "
                + "\(sent.deletedRecordIDs.count) \(sent.failedRecordDeletes.count)"
        case .fetchedDatabaseChanges(let received):
            let fetched: CKSyncEngine.Event.FetchedDatabaseChanges = received
            return "zones \(fetched.modifications.count) \(fetched.deletions.count)"
        case .fetchedRecordZoneChanges(let received):
            let fetched: CKSyncEngine.Event.FetchedRecordZoneChanges = received
            return "records \(fetched.modifications.count) \(fetched.deletions.count)"
        default: return nil
        }
    }

    @Test func eventsExposeTypedDetails() async throws {
        let world = EngineWorld()
        let (phone, tablet) = (try await world.app("phone"), try await world.app("tablet"))
        let received = Mutex<[String]>([])
        for app in [phone, tablet] {
            app.whenEvent { event, _ in
                if let line = Self.parts(event) { received.withLock { $0.append(line) } }
            }
        }
        phone.makeZone()
        phone.write("a", "1")
        try await phone.engine.sendChanges()
        #expect(
            received.withLock { $0 } == [
                "signIn", "willSend manual", "zones 1 0 0 0", "records 1 0 0 0", "didSend manual",
            ])
        received.withLock { $0 = [] }
        try await tablet.engine.fetchChanges()
        #expect(
            received.withLock { $0 } == [
                "signIn", "willFetch manual", "zones 1 0", "will Huts", "records 1 0",
                "did Huts true", "didFetch manual",
            ])
    }

    @Test func eventsAndEnginesHaveDescriptions() async throws {
        let phone = try await EngineWorld().app("phone")
        let received = Mutex<[String]>([])
        phone.whenEvent { event, _ in received.withLock { $0.append(event.description) } }
        try await phone.engine.sendChanges()
        #expect(received.withLock { $0.contains { $0.contains("sign-in of") } })
        #expect(phone.engine.description.contains("CKSyncEngine"))
    }

    @Test func engineConfigurationKeepsProperties() async throws {
        let app = try await EngineWorld().app("phone")
        var configuration = CKSyncEngine.Configuration(
            database: app.database, stateSerialization: nil, delegate: app)
        configuration.subscriptionID = "own"
        #expect(configuration.delegate === app && configuration.subscriptionID == "own")
        #expect(configuration.automaticallySync && configuration.stateSerialization == nil)
        #expect(configuration.database === app.database)
    }

    @Test func optionsKeepTheirScopeAndGroup() {
        let group = CKOperationGroup()
        let fetching = CKSyncEngine.FetchChangesOptions(
            scope: .zoneIDs([hutsID]), operationGroup: group)
        #expect(fetching.scope.contains(hutsID) && fetching.operationGroup === group)
        let sending = CKSyncEngine.SendChangesOptions(
            scope: .recordIDs([hut("a")]), operationGroup: group)
        #expect(sending.scope.contains(hut("a")) && !sending.scope.contains(hut("b")))
        #expect(sending.operationGroup === group)
        #expect(CKSyncEngine.SyncReason.scheduled != CKSyncEngine.SyncReason.manual)
    }

    @Test func customBatchKeepsItsItems() {
        let record = CKRecord(recordType: "Hut", recordID: hut("a"))
        let batch = CKSyncEngine.RecordZoneChangeBatch(
            recordsToSave: [record], recordIDsToDelete: [hut("b")], atomicByZone: true)
        #expect(batch.recordsToSave.first === record && batch.recordIDsToDelete == [hut("b")])
        #expect(batch.atomicByZone)
        let changes: Set<CKSyncEngine.PendingDatabaseChange> = [
            .deleteZone(hutsID), .deleteZone(hutsID),
        ]
        #expect(changes.count == 1)
    }
}
