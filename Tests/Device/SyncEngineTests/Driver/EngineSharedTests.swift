import Foundation
import StratusClient
import StratusSync
import StratusSyncEngine
import StratusTesting
import Synchronization
import Testing

/// Engines on the shared database: zones of several owners, and participants who join and leave.
@Suite struct EngineSharedTests {
    /// Ida and Cy have a zone of the same name with a hut of the same name, and share it with Bo.
    private struct Valley {
        let world = EngineWorld()
        let ida: EngineApp
        let cy: EngineApp
        let bo: CKContainer
        let shares: [CKShare]
        /// The IDs of the zones in Bo's shared database.
        let idas: CKRecordZone.ID
        let cys: CKRecordZone.ID

        init(_ permission: CKShare.ParticipantPermission = .readWrite) async throws {
            ida = try await world.app("ida's phone", user: "ida@example.org")
            cy = try await world.app("cy's phone", user: "cy@example.org")
            bo = try await world.cloud.container(
                EngineWorld.container, user: "bo@example.org", device: "bo's phone")
            var shares: [CKShare] = []
            for app in [ida, cy] {
                app.makeZone()
                app.write("a", app === ida ? "ida's" : "cy's")
                try await app.engine.sendChanges()
                let container = app.database.container
                let share = CKShare(recordZoneID: hutsID)
                let participant = try await container.shareParticipant(
                    forEmailAddress: "bo@example.org")
                participant.permission = permission
                share.addParticipant(participant)
                shares.append(
                    try #require(try await app.database.save(share) as? CKShare))
                _ = try await bo.accept(
                    try await bo.shareMetadata(for: try #require(shares.last?.url)))
            }
            self.shares = shares
            idas = try await Self.zone(of: ida)
            cys = try await Self.zone(of: cy)
        }

        /// Bo's app after it fetched the shared zones.
        func bosApp() async throws -> SharedApp {
            let app = SharedApp(bo.sharedCloudDatabase)
            try await app.engine.fetchChanges()
            return app
        }

        private static func zone(of app: EngineApp) async throws -> CKRecordZone.ID {
            CKRecordZone.ID(
                zoneName: hutsID.zoneName,
                ownerName: try await app.database.container.userRecordID().recordName)
        }
    }

    @Test func zonesOfSeveralOwnersAreKeptApart() async throws {
        let valley = try await Valley()
        let bo = try await valley.bosApp()
        #expect(Set(bo.zoneIDs) == [valley.idas, valley.cys])
        #expect(bo.text(hut("a", in: valley.idas)) == "ida's")
        #expect(bo.text(hut("a", in: valley.cys)) == "cy's")

        // Bo changes a record in Ida's zone and creates one in Cy's zone.
        bo.write(hut("a", in: valley.idas), "bo's")
        bo.write(hut("b", in: valley.cys), "new")
        try await bo.engine.sendChanges()
        try await valley.ida.engine.fetchChanges()
        try await valley.cy.engine.fetchChanges()
        #expect(valley.ida.texts["a"] == "bo's" && valley.ida.texts["b"] == nil)
        #expect(valley.cy.texts["a"] == "cy's" && valley.cy.texts["b"] == "new")
        let boID = try await valley.bo.userRecordID()
        #expect(valley.cy.file.known["b"]?.creatorUserRecordID?.recordName == boID.recordName)

        // Pending changes and fetched records survive a restart, each in its own zone.
        bo.write(hut("a", in: valley.cys), "later")
        try await bo.engine.sendChanges(.init(scope: .recordIDs([])))
        bo.restart()
        #expect(bo.engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a", in: valley.cys))])
        valley.ida.write("a", "ida's again")
        try await valley.ida.engine.sendChanges()
        bo.forgetChanges()
        try await bo.engine.fetchChanges(.init(scope: .zoneIDs([valley.idas])))
        #expect(bo.changedIDs == [hut("a", in: valley.idas)])
        try await bo.engine.sendChanges(.init(scope: .allExcluding([valley.idas])))
        try await valley.cy.engine.fetchChanges()
        #expect(valley.cy.texts["a"] == "later")
    }

    @Test func ownerAndParticipantEditsConflict() async throws {
        let valley = try await Valley()
        let bo = try await valley.bosApp()
        valley.ida.write("a", "2")
        try await valley.ida.engine.sendChanges()
        bo.write(hut("a", in: valley.idas), "3")
        #expect(await codeOf { try await bo.engine.sendChanges() } == .partialFailure)
        #expect(bo.failures == [hut("a", in: valley.idas): .serverRecordChanged])
        // The app applied its own text to the server record of the error.
        try await bo.engine.sendChanges()
        try await valley.ida.engine.fetchChanges()
        #expect(valley.ida.texts["a"] == "3")
    }

    @Test func readOnlyParticipantGetsPermissionFailure() async throws {
        let valley = try await Valley(.readOnly)
        let bo = try await valley.bosApp()
        bo.write(hut("a", in: valley.idas), "bo's")
        #expect(await codeOf { try await bo.engine.sendChanges() } != nil)
        #expect(bo.failures == [hut("a", in: valley.idas): .permissionFailure])
        #expect(bo.engine.state.pendingRecordZoneChanges.isEmpty)
        try await valley.ida.engine.fetchChanges()
        #expect(valley.ida.texts["a"] == "ida's")
    }

    @Test func removedParticipantLosesZoneAndPendingEdit() async throws {
        let valley = try await Valley()
        let bo = try await valley.bosApp()
        bo.write(hut("a", in: valley.idas), "too late")
        let database = valley.ida.database
        let share = try #require(
            try await database.record(for: valley.shares[0].recordID) as? CKShare)
        share.removeParticipant(try #require(share.participants.last))
        try await database.save(share)
        try await bo.engine.fetchChanges()
        #expect(bo.deletions == [.init(zoneID: valley.idas, reason: .deleted)])
        // The engine leaves Bo's pending edit to the app. If the edit is sent, it fails, because its zone is gone.
        #expect(await codeOf { try await bo.engine.sendChanges() } == .partialFailure)
        #expect(bo.failures == [hut("a", in: valley.idas): .zoneNotFound])
        #expect(bo.engine.state.pendingRecordZoneChanges.isEmpty)
        // Cy's zone is still there.
        bo.write(hut("a", in: valley.cys), "2")
        try await bo.engine.sendChanges()
        try await valley.cy.engine.fetchChanges()
        #expect(valley.cy.texts["a"] == "2")
    }

    @Test func leavingParticipantLosesOnlyTheLeftZone() async throws {
        let valley = try await Valley()
        let bo = try await valley.bosApp()
        let share = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: valley.idas)
        bo.engine.state.add(pendingRecordZoneChanges: [.deleteRecord(share)])
        try await bo.engine.sendChanges()
        #expect(bo.failures.isEmpty)
        try await bo.engine.fetchChanges()
        #expect(bo.deletions == [.init(zoneID: valley.idas, reason: .deleted)])
        #expect(bo.zoneIDs == [valley.cys])
        try await valley.ida.engine.fetchChanges()
        #expect(valley.ida.texts["a"] == "ida's")
        // Bo can leave by deleting the zone as well.
        bo.engine.state.add(pendingDatabaseChanges: [.deleteZone(valley.cys)])
        try await bo.engine.sendChanges()
        try await bo.engine.fetchChanges()
        #expect(bo.zoneIDs.isEmpty)
    }

    /// A share is sent and fetched like any record.
    @Test func engineSendsAndFetchesShares() async throws {
        let valley = try await Valley()
        let bo = try await valley.bosApp()
        let seen = CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: valley.idas)
        #expect((bo.record(seen) as? CKShare)?.participants.count == 2)

        let database = valley.ida.database
        let share = try #require(
            try await database.record(for: valley.shares[0].recordID) as? CKShare)
        share[CKShare.SystemFieldKey.title] = "Ida's huts"
        valley.ida.batch { _ in
            valley.ida.batch(nil)
            return .init(recordsToSave: [share])
        }
        valley.ida.engine.state.add(pendingRecordZoneChanges: [.saveRecord(share.recordID)])
        try await valley.ida.engine.sendChanges()
        try await bo.engine.fetchChanges()
        #expect(bo.record(seen)?[CKShare.SystemFieldKey.title] == "Ida's huts")
    }
}

/// An app that keeps all records of a database, in all zones.
final class SharedApp: CKSyncEngineDelegate {
    private struct State: Sendable {
        var engine: CKSyncEngine?
        var serialization: CKSyncEngine.State.Serialization?
        var texts: [CKRecord.ID: String] = [:]
        var records: [CKRecord.ID: CKRecord] = [:]
        var zoneIDs: [CKRecordZone.ID] = []
        var deletions: [CKDatabase.DatabaseChange.Deletion] = []
        var failures: [CKRecord.ID: CKError.Code] = [:]
        var changedIDs: [CKRecord.ID] = []
        var watchers: [(CKRecord.ID, String, CheckedContinuation<Void, Never>)] = []
    }

    private let database: CKDatabase
    private let isAutomatic: Bool
    private let state = Mutex(State())

    init(_ database: CKDatabase, automatically: Bool = false) {
        self.database = database
        isAutomatic = automatically
    }

    var engine: CKSyncEngine {
        if let engine = state.withLock({ $0.engine }) { return engine }
        var configuration = CKSyncEngine.Configuration(
            database: database, stateSerialization: state.withLock { $0.serialization },
            delegate: self)
        configuration.automaticallySync = isAutomatic
        let engine = CKSyncEngine(configuration)
        state.withLock { $0.engine = engine }
        return engine
    }

    var zoneIDs: [CKRecordZone.ID] { state.withLock { $0.zoneIDs } }
    var deletions: [CKDatabase.DatabaseChange.Deletion] { state.withLock { $0.deletions } }
    var failures: [CKRecord.ID: CKError.Code] { state.withLock { $0.failures } }
    /// The records that were fetched.
    var changedIDs: [CKRecord.ID] { state.withLock { $0.changedIDs } }

    func restart() { state.withLock { $0.engine = nil } }
    func forgetChanges() { state.withLock { $0.changedIDs = [] } }
    func text(_ id: CKRecord.ID) -> String? { state.withLock { $0.texts[id] } }
    func record(_ id: CKRecord.ID) -> CKRecord? { state.withLock { $0.records[id] } }

    func write(_ id: CKRecord.ID, _ text: String) {
        state.withLock { $0.texts[id] = text }
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
    }

    /// Waits until a record with this text was fetched.
    func waitFor(_ id: CKRecord.ID, _ text: String) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.texts[id] == text { return true }
                state.watchers.append((id, text, continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    func nextRecordZoneChangeBatch(
        _ context: CKSyncEngine.SendChangesContext, syncEngine: CKSyncEngine
    ) async -> CKSyncEngine.RecordZoneChangeBatch? {
        let changes = syncEngine.state.pendingRecordZoneChanges.filter {
            context.options.scope.contains($0)
        }
        return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
            self.state.withLock { state in
                let known = state.records[id]?.copy() as? CKRecord
                let record = known ?? CKRecord(recordType: "Hut", recordID: id)
                record["text"] = state.texts[id]
                return record
            }
        }
    }

    func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
        switch event {
        case .stateUpdate(let update):
            state.withLock { $0.serialization = update.stateSerialization }
        case .fetchedDatabaseChanges(let changes):
            state.withLock { state in
                let gone = changes.deletions.map(\.zoneID)
                state.deletions += changes.deletions
                state.zoneIDs.removeAll { gone.contains($0) }
                for change in changes.modifications where !state.zoneIDs.contains(change.zoneID) {
                    state.zoneIDs.append(change.zoneID)
                }
            }
        case .fetchedRecordZoneChanges(let changes):
            state.withLock { state in
                for record in changes.modifications.map(\.record) {
                    state.records[record.recordID] = record
                    state.texts[record.recordID] = record["text"]
                    state.changedIDs.append(record.recordID)
                }
            }
            resumeWatchers()
        case .sentRecordZoneChanges(let changes): handle(changes, syncEngine)
        default: break
        }
    }

    private func handle(
        _ changes: CKSyncEngine.Event.SentRecordZoneChanges, _ engine: CKSyncEngine
    ) {
        var again: [CKSyncEngine.PendingRecordZoneChange] = []
        state.withLock { state in
            for record in changes.savedRecords { state.records[record.recordID] = record }
            for failure in changes.failedRecordSaves {
                let id = failure.record.recordID
                state.failures[id] = failure.error.code
                if let server = failure.error.serverRecord {
                    state.records[id] = server
                    again.append(.saveRecord(id))
                }
            }
            for (id, error) in changes.failedRecordDeletes { state.failures[id] = error.code }
        }
        engine.state.add(pendingRecordZoneChanges: again)
    }

    private func resumeWatchers() {
        let met = state.withLock { state in
            let texts = state.texts
            defer { state.watchers.removeAll { texts[$0.0] == $0.1 } }
            return state.watchers.filter { texts[$0.0] == $0.1 }.map(\.2)
        }
        for continuation in met { continuation.resume() }
    }
}
