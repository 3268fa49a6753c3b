import CloudKit
import Foundation
import StratusTesting
import Synchronization
import Testing

/// An app that resolves the changes that its engine could not send, like Apple's sample.
private final class MergingApp: CKSyncEngineDelegate {
    struct Store {
        var notes: [CKRecord.ID: CKRecord] = [:]
        var conflicts: [String] = []
        var deleted: [CKRecord.ID] = []
        var deletedZones: [(CKRecordZone.ID, CKDatabase.DatabaseChange.Deletion.Reason)] = []
        var wills: [String] = []
    }

    let store = Mutex(Store())

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .sentRecordZoneChanges(let sent):
            for failure in sent.failedRecordSaves { resolve(failure, syncEngine) }
            store.withLock { store in
                for record in sent.savedRecords { store.notes[record.recordID] = record }
                store.deleted += sent.deletedRecordIDs
                for (id, error) in sent.failedRecordDeletes where error.code == .unknownItem {
                    store.deleted.append(id)
                }
            }
        case .fetchedRecordZoneChanges(let fetched):
            store.withLock { store in
                for deletion in fetched.deletions where deletion.recordType == "Note" {
                    store.notes[deletion.recordID] = nil
                    store.deleted.append(deletion.recordID)
                }
            }
        case .fetchedDatabaseChanges(let fetched):
            store.withLock { store in
                store.deletedZones += fetched.deletions.map { ($0.zoneID, $0.reason) }
            }
        case .willFetchRecordZoneChanges(let will):
            store.withLock { $0.wills.append("fetch \(will.zoneID.zoneName)") }
        case .willSendChanges(let will):
            let text = will.context.reason == .manual ? "manual" : "scheduled"
            store.withLock { $0.wills.append("send \(text)") }
        default: break
        }
    }

    private func resolve(
        _ failure: CKSyncEngine.Event.SentRecordZoneChanges.FailedRecordSave, _ engine: CKSyncEngine
    ) {
        let id = failure.record.recordID
        switch failure.error.code {
        case .serverRecordChanged:
            guard let server = failure.error.serverRecord else { return }
            store.withLock { store in
                store.conflicts.append(server["title"] as? String ?? "")
                server["title"] = failure.record["title"] as CKRecordValue?
                store.notes[id] = server
            }
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
        case .zoneNotFound:
            engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: id.zoneID))])
            engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
        default: Issue.record("\(failure.error)")
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let pending = syncEngine.state.pendingRecordZoneChanges
            .filter(context.options.scope.contains)
        guard !pending.isEmpty else { return nil }
        var saves: [CKRecord] = []
        var deletions: [CKRecord.ID] = []
        for change in pending {
            switch change {
            case .saveRecord(let id):
                if let record = store.withLock({ $0.notes[id] }) {
                    saves.append(record)
                } else {
                    syncEngine.state.remove(pendingRecordZoneChanges: [change])
                }
            case .deleteRecord(let id): deletions.append(id)
            @unknown default: break
            }
        }
        return CKSyncEngine.RecordZoneChangeBatch(
            recordsToSave: saves, recordIDsToDelete: deletions, atomicByZone: false)
    }
}

@Suite struct EngineConflictCodeTests {
    private let cloud = TestCloud()
    private let noteID = CKRecord.ID(
        recordName: "note-1", zoneID: CKRecordZone.ID(zoneName: "Notes"))

    private func engine(
        _ app: MergingApp, device: String
    ) async throws -> (CKSyncEngine, CKDatabase) {
        let database = try await cloud.container(
            "iCloud.org.example.Notes", user: "ida", device: device
        ).privateCloudDatabase
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: nil, delegate: app)
        configuration.automaticallySync = false
        return (CKSyncEngine(configuration), database)
    }

    private func note(_ title: String) -> CKRecord {
        let record = CKRecord(recordType: "Note", recordID: noteID)
        record["title"] = title
        return record
    }

    /// Sends changes that fail in part; the delegate gets the failures before the call returns.
    private func send(
        _ engine: CKSyncEngine, _ options: CKSyncEngine.SendChangesOptions = .init()
    ) async throws {
        do {
            try await engine.sendChanges(options)
            Issue.record("nothing failed")
        } catch CKError.partialFailure {
            #expect(!engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    /// First the zone is missing, then another device saves first.
    @Test func failedSavesAreResolvedAndSentAgain() async throws {
        let app = MergingApp()
        let (engine, database) = try await engine(app, device: "phone")
        app.store.withLock { $0.notes[noteID] = note("Milk") }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(noteID)])
        try await send(engine)
        try await engine.sendChanges(.init(scope: .zoneIDs([noteID.zoneID])))
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)

        let theirs = try await database.record(for: noteID)
        theirs["title"] = "Oat"
        _ = try await database.save(theirs)
        app.store.withLock { $0.notes[noteID]?["title"] = "Soy" }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(noteID)])
        try await send(engine, .init(scope: .recordIDs([noteID])))
        try await engine.sendChanges()
        #expect(app.store.withLock { $0.conflicts } == ["Oat"])
        #expect(try await database.record(for: noteID)["title"] as? String == "Soy")
        #expect(app.store.withLock { $0.wills }.contains("send manual"))
    }

    @Test func deletionsOfRecordsAndZonesAreFetched() async throws {
        let (phone, tablet) = (MergingApp(), MergingApp())
        let (sender, database) = try await engine(phone, device: "phone")
        _ = try await database.save(CKRecordZone(zoneID: noteID.zoneID))
        _ = try await database.save(note("Milk"))
        let (fetcher, _) = try await engine(tablet, device: "tablet")
        try await fetcher.fetchChanges(.init(scope: .zoneIDs([noteID.zoneID])))
        #expect(tablet.store.withLock { $0.wills } == ["fetch Notes"])

        sender.state.add(pendingRecordZoneChanges: [.deleteRecord(noteID)])
        try await sender.sendChanges()
        #expect(phone.store.withLock { $0.deleted } == [noteID])
        try await fetcher.fetchChanges()
        #expect(tablet.store.withLock { $0.deleted } == [noteID])

        sender.state.add(pendingDatabaseChanges: [.deleteZone(noteID.zoneID)])
        try await sender.sendChanges()
        try await fetcher.fetchChanges()
        let zones = tablet.store.withLock { $0.deletedZones }
        #expect(zones.map(\.0) == [noteID.zoneID] && zones.map(\.1) == [.deleted])
        await fetcher.cancelOperations()
    }
}
