import Foundation
import StratusClient
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// Delegates that break the rules, and engines that share a state.
@Suite(.timeLimit(.minutes(20))) struct EngineMisuseTests {
    private typealias Batch = CKSyncEngine.RecordZoneChangeBatch

    private func record(_ name: String, _ text: String = "x") -> CKRecord {
        let record = CKRecord(recordType: "Hut", recordID: hut(name))
        record["text"] = text
        return record
    }

    /// Returns one batch, and then none.
    private func give(_ batch: Batch, by app: EngineApp) {
        app.batch { _ in
            app.batch { _ in nil }
            return batch
        }
    }

    @Test func failedUnlistedChangeBecomesPending() async throws {
        let world = EngineWorld()
        let (phone, tablet) = try await world.pair()
        phone.write("b", "1")
        give(Batch(recordsToSave: [record("c")], recordIDsToDelete: [hut("a")]), by: phone)
        world.cloud.faults.next(of: RecordsModify.self, .answer(.zoneBusy))
        #expect(await codeOf { try await phone.engine.sendChanges() } == .zoneBusy)
        #expect(
            Set(phone.engine.state.pendingRecordZoneChanges) == [
                .saveRecord(hut("c")), .deleteRecord(hut("a")), .saveRecord(hut("b")),
            ])
        give(Batch(recordsToSave: [record("c")], recordIDsToDelete: [hut("a")]), by: phone)
        try await phone.engine.sendChanges()
        #expect(phone.engine.state.pendingRecordZoneChanges == [.saveRecord(hut("b"))])
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["c": "x"])
    }

    @Test func endlessDelegateBatchesEndWithPendingChanges() async throws {
        let (phone, _) = try await EngineWorld().pair()
        phone.write("b", "1")
        let count = Mutex(0)
        phone.batch { _ in
            let number = count.withLock { count in
                defer { count += 1 }
                return count
            }
            return Batch(recordsToSave: [record(number == 3 ? "b" : "n\(number)")])
        }
        try await phone.engine.sendChanges()
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        #expect(
            phone.takeLog() == [
                "willSend manual", "sent +n0", "sent +n1", "sent +n2", "sent +b", "didSend manual",
            ])
    }

    @Test func duplicateRecordInBatchDoesNotTrap() async throws {
        let (phone, _) = try await EngineWorld().pair()
        phone.resolveNothing()
        for batch in [
            Batch(recordsToSave: [record("b", "1"), record("b", "2")]),
            Batch(recordsToSave: [record("b")], recordIDsToDelete: [hut("b"), hut("b")]),
        ] {
            phone.write("b", "1")
            give(batch, by: phone)
            // Which of the duplicates is saved is up to the service; the send must end.
            _ = await codeOf { try await phone.engine.sendChanges() }
            let log = phone.takeLog()
            #expect(log.first == "willSend manual" && log.last == "didSend manual")
        }
        phone.batch(nil)
        _ = await codeOf { try await phone.sendAll() }
        try await phone.engine.fetchChanges()
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func oversizedRecordFailsAloneAndOthersAreSaved() async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        phone.resolveNothing()
        phone.write("big", String(repeating: "x", count: 1_200_000))
        phone.write("b", "1")
        #expect(await codeOf { try await phone.engine.sendChanges() } == .partialFailure)
        #expect(phone.takeLog().contains("sent +b +big!limitExceeded"))
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["a": "1", "b": "1"])
    }

    /// The engine asks once for a smaller batch; an app that returns the same batch again gets the failure.
    @Test func repeatedOversizedBatchIsReportedAsFailed() async throws {
        let world = EngineWorld()
        let (phone, _) = try await world.pair()
        phone.resolveNothing()
        for number in 0..<40 { phone.write("n\(number)", "") }
        phone.batch { _ in Batch(recordsToSave: (0..<40).map { record("n\($0)") }) }
        world.cloud.faults.next(
            2, of: RecordsModify.self, .answer(.badRequest, frameworkCode: .limitExceeded))
        #expect(await codeOf { try await phone.engine.sendChanges() } == .limitExceeded)
        let log = phone.takeLog()
        #expect(log.count == 3 && log[1].contains("+n0!limitExceeded"))
        #expect(phone.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func changeMadeDuringRequestIsSentToo() async throws {
        let cloud = TestCloud()
        let (phone, app) = try await SwitchableDevice.sentAndReceived(
            ["a": "1", "b": "1"], to: cloud)
        app.write("a", "2")
        app.write("b", "2")
        let seen = Mutex<[CKSyncEngine.PendingRecordZoneChange]>([])
        let engine = app.engine
        phone.transport.beforeNext(RecordsModify.path) {
            app.write("a", "3")
            app.erase("b")
            seen.withLock { $0 = engine.state.pendingRecordZoneChanges }
        }
        try await engine.sendChanges()
        // Both changes are in flight and pending at the same time.
        #expect(seen.withLock { $0 } == [.saveRecord(hut("a")), .deleteRecord(hut("b"))])
        #expect(
            app.takeLog() == ["willSend manual", "sent +a +b", "sent +a -b", "didSend manual"])
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        let tablet = try await EngineWorld(cloud).app("tablet")
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["a": "3"])
    }

    /// The second engine does not know that the first has saved, and gets a conflict.
    @Test func twoEnginesWithSameStateConverge() async throws {
        let (phone, tablet) = try await EngineWorld().pair()
        phone.write("a", "5")
        phone.write("b", "1")
        // The state is stored before a second engine reads it.
        try await phone.engine.sendChanges(.init(scope: .recordIDs([])))
        let twin = EngineApp(phone.database, file: phone.file)
        #expect(
            twin.engine.state.pendingRecordZoneChanges
                == phone.engine.state.pendingRecordZoneChanges)
        async let first: Void = phone.sendAll()
        async let second: Void = twin.sendAll()
        _ = try await (first, second)
        for app in [phone, twin, tablet] {
            try await app.engine.fetchChanges()
            #expect(app.texts == ["a": "5", "b": "1"])
            #expect(app.engine.state.pendingRecordZoneChanges.isEmpty)
        }
    }

    @Test func engineWithoutDelegateDoesNothing() async throws {
        let world = EngineWorld()
        var phone: EngineApp? = try await world.app("phone")
        let engine = try #require(phone?.engine)
        phone?.makeZone()
        try await engine.sendChanges()
        phone = nil
        engine.state.add(pendingRecordZoneChanges: [.saveRecord(hut("a"))])
        try await engine.sendChanges()
        try await engine.fetchChanges()
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a"))])
    }

    /// An engine that is released during a call finishes the call first.
    @Test func callFinishesAfterEngineIsReleased() async throws {
        let phone = try await SwitchableDevice.withZone()
        let app = phone.app
        app.write("a", "1")
        phone.transport.beforeRequests { path in
            if path == RecordsModify.path { app.restart() }
        }
        try await app.engine.sendChanges()
        #expect(app.log.last == "didSend manual" && app.log.contains("sent +a"))
        #expect(app.engine.state.pendingRecordZoneChanges.isEmpty)
    }
}
