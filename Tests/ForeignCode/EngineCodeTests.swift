import CloudKit
import Foundation
import StratusTesting
import Synchronization
import Testing

/// An app on `CKSyncEngine`, like Apple's sample and the libraries: it handles every event by name.
private final class NotesApp: CKSyncEngineDelegate {
    struct Store {
        var notes: [CKRecord.ID: CKRecord] = [:]
        var events: [String] = []
        var state: CKSyncEngine.State.Serialization?
    }

    let store = Mutex(Store())

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let update):
            store.withLock { $0.state = update.stateSerialization }
        case .accountChange(let change):
            switch change.changeType {
            case .signIn, .signOut, .switchAccounts: note("account")
            @unknown default: break
            }
        case .fetchedDatabaseChanges(let changes):
            note("database \(changes.modifications.count) \(changes.deletions.count)")
        case .fetchedRecordZoneChanges(let changes):
            store.withLock { store in
                for modification in changes.modifications {
                    store.notes[modification.record.recordID] = modification.record
                }
                for deletion in changes.deletions { store.notes[deletion.recordID] = nil }
            }
            note("fetched")
        case .sentDatabaseChanges(let changes):
            note("zones \(changes.savedZones.count) \(changes.failedZoneSaves.count)")
        case .sentRecordZoneChanges(let changes):
            store.withLock { store in
                for record in changes.savedRecords { store.notes[record.recordID] = record }
            }
            note("sent \(changes.savedRecords.count) \(changes.failedRecordSaves.count)")
        case .willFetchChanges, .willFetchRecordZoneChanges, .didFetchRecordZoneChanges,
            .didFetchChanges, .willSendChanges, .didSendChanges:
            break
        @unknown default:
            break
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let scope = context.options.scope
        let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
            self.store.withLock { $0.notes[recordID] }
        }
    }

    private func note(_ event: String) { store.withLock { $0.events.append(event) } }
}

/// Protocols that libraries declare to replace the engine and the database by mocks.
private protocol SyncEngineProtocol: AnyObject, Sendable {
    associatedtype State
    var state: State { get }
    func fetchChanges(_ options: CKSyncEngine.FetchChangesOptions) async throws
    func sendChanges(_ options: CKSyncEngine.SendChangesOptions) async throws
    func cancelOperations() async
}

extension CKSyncEngine: SyncEngineProtocol {}

private protocol CloudDatabase: AnyObject, Sendable {
    var databaseScope: CKDatabase.Scope { get }
    func record(for recordID: CKRecord.ID) async throws -> CKRecord
    func records(
        for ids: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>]
    func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy, atomically: Bool
    ) async throws -> (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
        deleteResults: [CKRecord.ID: Result<Void, any Error>]
    )
    func modifyRecordZones(
        saving recordZonesToSave: [CKRecordZone], deleting recordZoneIDsToDelete: [CKRecordZone.ID]
    ) async throws -> (
        saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
        deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
    )
}

extension CKDatabase: CloudDatabase {}

private protocol CloudContainer: AnyObject, Sendable {
    associatedtype Database: CloudDatabase
    func accountStatus() async throws -> CKAccountStatus
    var containerIdentifier: String? { get }
    var privateCloudDatabase: Database { get }
    var sharedCloudDatabase: Database { get }
}

extension CKContainer: CloudContainer {}

@Suite struct EngineCodeTests {
    private let cloud = TestCloud()
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func engine(_ app: NotesApp, device: String) async throws -> CKSyncEngine {
        let container = try await cloud.container(
            "iCloud.org.example.Notes", user: "ida", device: device)
        var configuration = CKSyncEngine.Configuration(
            database: container.privateCloudDatabase,
            stateSerialization: app.store.withLock { $0.state }, delegate: app)
        configuration.automaticallySync = false
        return CKSyncEngine(configuration)
    }

    @Test func engineSendsAndFetchesThroughDelegate() async throws {
        let (phone, tablet) = (NotesApp(), NotesApp())
        let sender = try await engine(phone, device: "phone")
        let note = CKRecord(
            recordType: "Note", recordID: CKRecord.ID(recordName: "note-1", zoneID: zoneID))
        note["title"] = "Milk"
        note.encryptedValues["secret"] = "Oat"
        phone.store.withLock { $0.notes[note.recordID] = note }
        sender.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))])
        sender.state.add(pendingRecordZoneChanges: [.saveRecord(note.recordID)])
        #expect(sender.state.hasPendingUntrackedChanges == false)
        try await sender.sendChanges(CKSyncEngine.SendChangesOptions())
        #expect(sender.state.pendingRecordZoneChanges.isEmpty)
        let sent = phone.store.withLock { $0.events }
        #expect(sent.contains("zones 1 0") && sent.contains("sent 1 0"))
        #expect(phone.store.withLock { $0.state } != nil)

        let fetcher = try await engine(tablet, device: "tablet")
        try await fetcher.fetchChanges(CKSyncEngine.FetchChangesOptions())
        let read = try #require(tablet.store.withLock { $0.notes[note.recordID] })
        #expect(read["title"] as? String == "Milk")
        #expect(read.encryptedValues["secret"] as? String == "Oat")
    }

    @Test func stateSerializationIsCodable() async throws {
        let app = NotesApp()
        let engine = try await engine(app, device: "phone")
        try await engine.fetchChanges()
        let state = try #require(app.store.withLock { $0.state })
        let data = try JSONEncoder().encode(state)
        _ = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: data)
    }

    @Test func frameworkTypesConformToAppsProtocols() async throws {
        func status(of container: some CloudContainer) async throws -> CKAccountStatus {
            #expect(container.privateCloudDatabase.databaseScope == .private)
            #expect(container.sharedCloudDatabase.databaseScope == .shared)
            return try await container.accountStatus()
        }
        let container = try await cloud.container(
            "iCloud.org.example.Notes", user: "ida", device: "phone")
        #expect(try await status(of: container) == .available)
        let database: any CloudDatabase = container.privateCloudDatabase
        _ = try await database.modifyRecordZones(
            saving: [CKRecordZone(zoneID: zoneID)], deleting: [])
        let note = CKRecord(
            recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zoneID))
        let (saved, _) = try await database.modifyRecords(
            saving: [note], deleting: [], savePolicy: .ifServerRecordUnchanged, atomically: true)
        #expect(try saved[note.recordID]?.get().recordChangeTag != nil)
        let found = try await database.records(for: [note.recordID], desiredKeys: nil)
        #expect(try found[note.recordID]?.get() == note)
    }
}
