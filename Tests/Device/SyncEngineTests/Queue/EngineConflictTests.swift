import Foundation
import StratusClient
import StratusRecords
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// The conflicts of Apple's documentation, one after the other, with manual syncs.
@Suite struct EngineConflictTests {
    private func expectConflict(_ tablet: EngineApp) async {
        #expect(await codeOf { try await tablet.engine.sendChanges() } == .partialFailure)
        #expect(
            tablet.takeLog() == [
                "willSend manual", "sent +a!serverRecordChanged", "didSend manual",
            ])
    }

    @Test func conflictIsMergedAndSentAgain() async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        phone.write("a", "3")
        tablet.write("a", "2")
        try await phone.engine.sendChanges()
        await expectConflict(tablet)
        // The other device's text was the greater one: nothing is left to send.
        #expect(tablet.texts == ["a": "3"])
        tablet.write("a", "5")
        phone.write("a", "4")
        try await phone.engine.sendChanges()
        await expectConflict(tablet)
        // The app merged the texts and added the change again.
        #expect(tablet.engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a"))])
        try await expectSend(by: tablet, "sent +a")
        try await phone.engine.fetchChanges()
        #expect(phone.texts == ["a": "5"])
    }

    /// A first fetch does not report records that were deleted before it.
    @Test(arguments: [false, true])
    func conflictingRecordDeletedBeforeTheFirstFetchIsDeleted(restarts: Bool) async throws {
        let (phone, tablet) = try await EngineWorld().unfetchedPair()
        tablet.write("a", "0")
        #expect(await codeOf { try await tablet.engine.sendChanges() } == .partialFailure)
        #expect(tablet.texts == ["a": "1"])
        if restarts { tablet.restart() }
        phone.erase("a")
        try await phone.engine.sendChanges()
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["b": "1"])
        #expect(tablet.log.contains("fetched +b -a"))
        _ = tablet.takeLog()
        try await tablet.engine.fetchChanges()
        #expect(!tablet.log.contains { $0.hasPrefix("fetched") })
    }

    @Test func conflictErrorHasAncestorClientAndServerRecords() async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        phone.write("a", "3")
        try await phone.engine.sendChanges()
        tablet.resolveNothing()
        let texts = Mutex<[String?]>([])
        tablet.whenEvent { event, _ in
            guard case .sentRecordZoneChanges(let sent) = event,
                let error = sent.failedRecordSaves.first?.error
            else { return }
            let records = [error.ancestorRecord, error.clientRecord, error.serverRecord]
            texts.withLock { $0 = records.map { $0?["text"] } }
        }
        tablet.write("a", "2")
        do {
            try await tablet.engine.sendChanges()
            Issue.record("A send with a failed change did not throw.")
        } catch let error as CKError {
            #expect(error.code == .partialFailure)
            let record = try #require(error.errorsByRecordID[hut("a")])
            #expect(record.code == .serverRecordChanged)
            #expect(record.serverRecord?["text"] == "3")
        }
        #expect(texts.withLock { $0 } == ["1", "2", "3"])
        // A failure that the app does not resolve leaves nothing pending.
        #expect(tablet.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func editOfDeletedRecordRecreatesIt() async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        phone.erase("a")
        try await phone.engine.sendChanges()
        tablet.write("a", "2")
        #expect(await codeOf { try await tablet.engine.sendChanges() } == .partialFailure)
        #expect(
            tablet.takeLog() == ["willSend manual", "sent +a!unknownItem", "didSend manual"])
        try await expectSend(by: tablet, "sent +a")
        try await phone.engine.fetchChanges()
        #expect(phone.texts == ["a": "2"])
    }

    @Test func deletingDeletedRecordSucceeds() async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        phone.erase("a")
        tablet.erase("a")
        try await phone.engine.sendChanges()
        try await expectSend(by: tablet, "sent -a")
    }

    @Test(arguments: [Fault.ZoneResetReason.deleted, .purged])
    func deletedZoneLeavesNoPendingChanges(_ reason: Fault.ZoneResetReason) async throws {
        let world = EngineWorld()
        let (phone, _) = try await world.pair()
        phone.write("a", "2")
        world.cloud.faults.resetZone("Huts", reason: reason)
        try await phone.engine.fetchChanges()
        #expect(
            phone.takeLog() == ["willFetch manual", "zones -Huts \(reason)", "didFetch manual"])
        // The app dropped its texts and their pending changes.
        #expect(phone.texts.isEmpty && phone.engine.state.pendingRecordZoneChanges.isEmpty)
        try await phone.engine.sendChanges()
        #expect(phone.takeLog() == [])
    }

    /// The deprecated property of a deletion only says whether it was a purge; the reason distinguishes all causes.
    @available(*, deprecated)
    @Test(arguments: [Fault.ZoneResetReason.deleted, .purged, .encryptedDataReset])
    func zoneDeletionReportsItsReason(_ reason: Fault.ZoneResetReason) async throws {
        let world = EngineWorld()
        let (phone, tablet) = try await world.pair()
        phone.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "B"))])
        try await phone.engine.sendChanges()
        world.cloud.faults.resetZone("Huts", reason: reason)
        let received = Mutex<[CKDatabase.DatabaseChange.Deletion]>([])
        tablet.whenEvent { event, _ in
            guard case .fetchedDatabaseChanges(let changes) = event else { return }
            received.withLock { $0 += changes.deletions }
        }
        try await tablet.engine.fetchChanges()
        let deletion = try #require(received.withLock { $0 }.first)
        #expect(deletion.zoneID == hutsID && deletion.purged == (reason == .purged))
        #expect("\(deletion.reason)" == "\(reason)")
    }

    /// Expects a send with these events between its first and its last one.
    private func expectSend(
        by app: EngineApp, _ events: String..., sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try await app.engine.sendChanges()
        #expect(
            app.takeLog() == ["willSend manual"] + events + ["didSend manual"],
            sourceLocation: sourceLocation)
    }

    @Test func encryptedDataResetRecreatesZoneWithRecords() async throws {
        let world = EngineWorld()
        let (phone, tablet) = try await world.pair()
        phone.write("b", "2")
        world.cloud.faults.resetZone("Huts", reason: .encryptedDataReset)
        try await phone.engine.fetchChanges()
        #expect(
            phone.takeLog() == [
                "willFetch manual", "zones -Huts encryptedDataReset", "didFetch manual",
            ])
        try await expectSend(by: phone, "sentZones +Huts", "sent +b +a")
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["a": "1", "b": "2"])
    }

    @Test func zoneMissingAtSendIsRecreated() async throws {
        let world = EngineWorld()
        let (phone, _) = try await world.pair()
        phone.write("a", "2")
        phone.write("b", "1")
        world.cloud.faults.resetZone("Huts", reason: .deleted)
        #expect(await codeOf { try await phone.engine.sendChanges() } == .partialFailure)
        #expect(
            phone.takeLog() == [
                "willSend manual", "sent +a!zoneNotFound +b!zoneNotFound", "didSend manual",
            ])
        try await expectSend(by: phone, "sentZones +Huts", "sent +a +b")
    }

    @Test func zoneDeletedDuringFetchIsReported() async throws {
        let world = EngineWorld()
        let (phone, tablet) = try await world.pair()
        phone.write("a", "2")
        try await phone.engine.sendChanges()
        world.cloud.faults.resetZone("Huts", reason: .deleted, beforeNext: ChangesZone.self)
        try await tablet.engine.fetchChanges()
        #expect(
            tablet.takeLog() == [
                "willFetch manual", "zones +Huts", "willFetch Huts", "didFetch Huts!zoneNotFound",
                "zones -Huts deleted", "didFetch manual",
            ])
        #expect(tablet.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
    }

    @Test func zoneDeletionReachesOtherDevice() async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        phone.engine.state.add(pendingDatabaseChanges: [.deleteZone(hutsID)])
        try await expectSend(by: phone, "sentZones -Huts")
        try await tablet.engine.fetchChanges()
        #expect(tablet.takeLog() == ["willFetch manual", "zones -Huts deleted", "didFetch manual"])
        #expect(tablet.texts.isEmpty)
        // Deleting a deleted zone succeeds.
        tablet.engine.state.add(pendingDatabaseChanges: [.deleteZone(hutsID)])
        try await expectSend(by: tablet, "sentZones -Huts")
    }

    /// One page of the database's changes names the deletion, a later one the new zone, and the request after that fails.
    @Test(arguments: [false, true])
    func zoneRecreatedBetweenPagesIsFetched(isRestarted: Bool) async throws {
        let cloud = TestCloud(pageSize: 1)
        let (phone, app) = try await SwitchableDevice.sentAndReceived(["a": "1"], to: cloud)
        try await app.engine.fetchChanges()
        let tablet = try await EngineWorld(cloud).app("tablet")
        try await tablet.engine.fetchChanges()
        @Sendable func send(_ change: CKSyncEngine.PendingDatabaseChange) async throws {
            tablet.engine.state.add(pendingDatabaseChanges: [change])
            try await tablet.engine.sendChanges()
        }
        try await send(.deleteZone(hutsID))
        try await send(.saveZone(CKRecordZone(zoneName: "Trails")))
        let count = phone.transport.beforeEach(ChangesDatabase.path) { number in
            if number == 2 {
                try await send(.saveZone(CKRecordZone(zoneID: hutsID)))
                tablet.write("b", "2")
                try await tablet.engine.sendChanges()
                try await send(.saveZone(CKRecordZone(zoneName: "Lakes")))
            }
            if number >= 4 { throw TransportError(.noRoute, "The network is gone.") }
        }
        await #expect(throws: CKError.self) { try await app.engine.fetchChanges() }
        #expect(count.value >= 4)
        #expect(
            app.log.contains("zones -Huts deleted") && app.log.contains("zones +Huts"),
            "\(app.log)")
        phone.transport.goOnline()
        if isRestarted { app.restart() }
        try await app.engine.fetchChanges()
        #expect(app.texts == ["b": "2"])
    }

    @Test func limitExceededHalvesEngineBatch() async throws {
        let world = EngineWorld()
        let (phone, _) = try await world.pair()
        for number in 0..<8 { phone.write("n\(number)", "1") }
        world.cloud.faults.next(
            of: RecordsModify.self, .answer(.badRequest, frameworkCode: .limitExceeded))
        try await expectSend(by: phone, "sent +n0 +n1 +n2 +n3", "sent +n4 +n5 +n6 +n7")
        // A single record that is too large is reported to the app.
        phone.resolveNothing()
        phone.write("a", "2")
        world.cloud.faults.next(
            of: RecordsModify.self, .answer(.badRequest, frameworkCode: .limitExceeded))
        #expect(await codeOf { try await phone.engine.sendChanges() } == .limitExceeded)
        #expect(phone.takeLog().contains("sent +a!limitExceeded"))
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func quotaExceededIsLeftToApp() async throws {
        let world = EngineWorld()
        let (phone, _) = try await world.pair()
        phone.resolveNothing()
        phone.write("a", "2")
        world.cloud.faults.next(of: RecordsModify.self, .answer(.quotaExceeded))
        #expect(await codeOf { try await phone.engine.sendChanges() } == .quotaExceeded)
        #expect(
            phone.takeLog() == ["willSend manual", "sent +a!quotaExceeded", "didSend manual"])
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        phone.engine.state.add(pendingRecordZoneChanges: [.saveRecord(hut("a"))])
        try await expectSend(by: phone, "sent +a")
    }

    @Test func networkFailureKeepsPendingChanges() async throws {
        let phone = try await SwitchableDevice.withZone()
        let app = phone.app
        app.write("a", "1")
        phone.transport.goOffline()
        #expect(await codeOf { try await app.engine.sendChanges() } == .networkUnavailable)
        #expect(await codeOf { try await app.engine.fetchChanges() } == .networkUnavailable)
        // Without a known account there are no events.
        #expect(app.takeLog() == [])
        phone.transport.goOnline()
        try await app.engine.sendChanges()
        _ = app.takeLog()
        app.write("a", "2")
        phone.transport.goOffline()
        #expect(await codeOf { try await app.engine.sendChanges() } == .networkUnavailable)
        #expect(
            app.takeLog() == ["willSend manual", "sent +a!networkUnavailable", "didSend manual"])
        #expect(await codeOf { try await app.engine.fetchChanges() } == .networkUnavailable)
        #expect(app.takeLog() == ["willFetch manual", "didFetch manual"])
        #expect(app.engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a"))])
        phone.transport.goOnline()
        try await expectSend(by: app, "sent +a")
    }

    @Test func lostAnswerEndsAsConflictWithOwnSave() async throws {
        let world = EngineWorld()
        let (phone, tablet) = try await world.pair()
        phone.write("a", "2")
        world.cloud.faults.next(of: RecordsModify.self, .dropConnectionAfterCommit)
        #expect(await codeOf { try await phone.engine.sendChanges() } == .serverResponseLost)
        #expect(phone.engine.state.pendingRecordZoneChanges.count == 1)
        #expect(await codeOf { try await phone.engine.sendChanges() } == .partialFailure)
        #expect(phone.takeLog().contains("sent +a!serverRecordChanged"))
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["a": "2"])
    }

    @Test func atomicByZoneBatchFailsTogether() async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        phone.write("a", "3")
        try await phone.engine.sendChanges()
        tablet.resolveNothing()
        tablet.write("a", "2")
        tablet.write("b", "2")
        tablet.batch { _ in
            tablet.batch { _ in nil }
            return .init(
                recordsToSave: ["a", "b"].compactMap { tablet.record(hut($0)) }, atomicByZone: true)
        }
        #expect(await codeOf { try await tablet.engine.sendChanges() } == .partialFailure)
        #expect(
            tablet.takeLog() == [
                "willSend manual", "sent +a!serverRecordChanged +b!batchRequestFailed",
                "didSend manual",
            ])
        // Sent without the failed record, the batch would not be the atomic one that the app asked for.
        #expect(tablet.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func expiredZoneTokenStartsFullZoneFetch() async throws {
        let world = EngineWorld()
        let (phone, tablet) = try await world.pair()
        phone.write("b", "1")
        try await phone.engine.sendChanges()
        world.cloud.faults.next(of: ChangesZone.self, .expireChangeTokens)
        try await tablet.engine.fetchChanges()
        #expect(
            tablet.takeLog() == [
                "willFetch manual", "zones +Huts", "willFetch Huts", "fetched +a +b",
                "didFetch Huts", "didFetch manual",
            ])
        #expect(tablet.texts == ["a": "1", "b": "1"])
        #expect(world.cloud.faults.remaining.isEmpty)
    }

    @Test func expiredDatabaseTokenReportsDeletedZones() async throws {
        let world = EngineWorld()
        let (phone, tablet) = try await world.pair()
        let other = CKRecordZone.ID(zoneName: "Trails")
        phone.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: other))])
        try await phone.engine.sendChanges()
        try await tablet.engine.fetchChanges()
        _ = tablet.takeLog()
        phone.engine.state.add(pendingDatabaseChanges: [.deleteZone(other)])
        try await phone.engine.sendChanges()
        world.cloud.faults.next(of: ChangesDatabase.self, .expireChangeTokens)
        try await tablet.engine.fetchChanges()
        let log = tablet.takeLog()
        #expect(log.contains("zones +Huts -Trails deleted"))
        #expect(tablet.texts == ["a": "1"])
    }
}
