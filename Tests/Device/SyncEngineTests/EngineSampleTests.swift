import Foundation
import StratusClient
import StratusService
import StratusSync
import StratusSyncEngine
import StratusTesting
import Testing

/// The tests of Apple's sample project for the engine, in their order: two devices with manual syncs. Source:
/// apple/sample-cloudkit-sync-engine, SyncTests.
@Suite struct EngineSampleTests {
    // MARK: Simple sync

    @Test(arguments: [1, 10, 444]) func contactsReachOtherDevice(_ count: Int) async throws {
        let world = EngineWorld()
        let (a, b) = (try await world.app("a"), try await world.app("b"))
        a.makeZone()
        for number in 0..<count { a.write("contact-\(number)", "\(number)") }
        try await a.engine.sendChanges()
        #expect(b.texts.isEmpty)
        try await b.engine.fetchChanges()
        #expect(b.texts.count == count && b.texts == a.texts)
    }

    @Test func nameChangesSyncBothWays() async throws {
        let (a, b) = try await EngineWorld().pair()
        b.write("a", "Name 2")
        try await b.engine.sendChanges()
        try await a.engine.fetchChanges()
        #expect(a.texts == ["a": "Name 2"])
        a.write("a", "Name 3")
        try await a.engine.sendChanges()
        try await b.engine.fetchChanges()
        #expect(b.texts == ["a": "Name 3"])
    }

    // MARK: Save failures

    /// The first send throws, the app resolves the failure, and the second send succeeds.
    private func failOnce(
        _ code: CKError.Code,
        _ breakIt: @escaping @Sendable (CKDatabase) async throws -> Void
    ) async throws {
        let clock = TestClock()
        let world = EngineWorld(TestCloud(clock: clock))
        let (a, b) = try await world.pair()
        let original = try #require(a.file.known["a"]?.creationDate)
        clock.advance(bySeconds: 1)
        // Directly at the service, as if another device had done it.
        try await breakIt(a.engine.database)
        a.write("a", "renamed")
        do {
            try await a.engine.sendChanges()
            Issue.record("The send was expected to fail.")
        } catch let error as CKError {
            #expect(error.errorsByRecordID[hut("a")]?.code == code)
        }
        // The app dropped the system fields of the missing record.
        #expect(a.file.known["a"] == nil)
        #expect(a.engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a"))])
        try await a.engine.sendChanges()
        try await b.engine.fetchChanges()
        #expect(b.texts == ["a": "renamed"])
        #expect(try #require(b.file.known["a"]?.creationDate) != original)
    }

    @Test func zoneNotFoundSavesZoneAgain() async throws {
        try await failOnce(.zoneNotFound) { _ = try await $0.deleteRecordZone(withID: hutsID) }
    }

    @Test func unknownItemIsSavedAgain() async throws {
        try await failOnce(.unknownItem) { _ = try await $0.deleteRecord(withID: hut("a")) }
    }

    // MARK: Conflicts

    @Test(arguments: [true, false])
    func sameChangeWinsInEitherSendOrder(_ winnerSendsFirst: Bool) async throws {
        let (a, b) = try await EngineWorld().pair()
        a.write("a", "A2, the winner")
        b.write("a", "2, of B")
        let (first, second) = winnerSendsFirst ? (a, b) : (b, a)
        try await first.engine.sendChanges()
        #expect(await codeOf { try await second.engine.sendChanges() } == .partialFailure)
        #expect(first.engine.state.pendingRecordZoneChanges.isEmpty)
        #expect(a.texts["a"] == "A2, the winner")
        #expect(b.texts["a"] == (winnerSendsFirst ? "A2, the winner" : "2, of B"))
        // Only the device with the winning text has something to send again.
        let again: [CKSyncEngine.PendingRecordZoneChange] =
            winnerSendsFirst ? [] : [.saveRecord(hut("a"))]
        #expect(second.engine.state.pendingRecordZoneChanges == again)
        try await second.engine.sendChanges()
        try await first.engine.fetchChanges()
        #expect(a.texts == ["a": "A2, the winner"] && b.texts == a.texts)
        #expect(a.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    // MARK: Cases that Apple's tests leave out

    @Test func deletedContactDisappearsOnOtherDevice() async throws {
        let (a, b) = try await EngineWorld().pair()
        a.erase("a")
        try await a.engine.sendChanges()
        try await b.engine.fetchChanges()
        #expect(b.texts.isEmpty && b.takeLog().contains("fetched -a"))
    }

    /// One device deletes the record and the other edits it; the deletion is sent first.
    @Test func pendingEditRecreatesDeletedContact() async throws {
        let (a, b) = try await EngineWorld().pair()
        a.erase("a")
        b.write("a", "edited")
        try await a.engine.sendChanges()
        // The pending edit survives the fetch of the deletion and creates the record again.
        try await b.engine.fetchChanges()
        #expect(b.texts == ["a": "edited"])
        try await b.engine.sendChanges()
        try await a.engine.fetchChanges()
        #expect(a.texts == ["a": "edited"] && a.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    /// One device edits the record and the other deletes it without fetching: a deletion names a record, not a version.
    @Test func deleteWinsOverUnfetchedEdit() async throws {
        let (a, b) = try await EngineWorld().pair()
        b.write("a", "edited")
        try await b.engine.sendChanges()
        a.erase("a")
        try await a.engine.sendChanges()
        #expect(a.takeLog() == ["willSend manual", "sent -a", "didSend manual"])
        try await b.engine.fetchChanges()
        #expect(b.texts.isEmpty && a.texts.isEmpty)
    }

    @Test func concurrentCreatesOfSameContactConflict() async throws {
        let (a, b) = try await EngineWorld().pair()
        a.write("new", "1")
        b.write("new", "2")
        try await a.engine.sendChanges()
        #expect(await codeOf { try await b.engine.sendChanges() } == .partialFailure)
        #expect(b.takeLog().contains("sent +new!serverRecordChanged"))
        try await b.engine.sendChanges()
        try await a.engine.fetchChanges()
        #expect(a.texts["new"] == "2" && b.texts["new"] == "2")
    }

    /// One record of a batch fails: the others are saved, and changes after the batch wait.
    @Test func failedRecordDoesNotBlockItsBatch() async throws {
        let (a, b) = try await EngineWorld().pair()
        b.write("a", "0")
        try await b.engine.sendChanges()
        a.write("a", "2")
        for number in 0..<300 { a.write("n\(number)", "x") }
        #expect(await codeOf { try await a.engine.sendChanges() } == .partialFailure)
        // 301 changes minus the batch, plus the one that the app added again.
        #expect(a.engine.state.pendingRecordZoneChanges.count == 301 - 250 + 1)
        try await a.engine.sendChanges()
        try await b.engine.fetchChanges()
        #expect(b.texts.count == 301 && b.texts["a"] == "2")
    }
}
