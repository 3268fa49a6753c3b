import Foundation
import StratusCache
import StratusClient
import StratusRecords
import StratusService
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// What an engine's store does after something could not be written, and what a full answer says of zones.
@Suite(.timeLimit(.minutes(20))) struct EngineRecoveryTests {
    /// Nothing else leads the engine into the zone: nothing is pending, and the database's token is past the change.
    @Test(arguments: [false, true])
    func unwrittenPageIsFetchedAgain(isRestartedLater: Bool) async throws {
        let cloud = TestCloud()
        let (phone, tablet) = (
            try await FullDiskDevice(cloud), try await EngineDevice(cloud, "tablet")
        )
        try tablet.save("a", "1")
        for _ in 0..<2 { try await tablet.sync() }
        for _ in 0..<2 { try await phone.sync() }
        #expect(try phone.texts() == ["a": "1"])
        try tablet.save("b", "1")
        try await tablet.sync()
        phone.delegate.fail { $0 == 1 }
        try await phone.engine.fetchChanges()
        #expect(phone.delegate.store.failure != nil)
        phone.delegate.fail { _ in false }
        try await phone.sync()
        if isRestartedLater {
            try phone.restart()
            try await phone.sync()
        }
        #expect(phone.delegate.store.failure == nil)
        #expect(try phone.texts() == ["a": "1", "b": "1"])
    }

    /// The first page of a first fetch is written and its token stored; the second one is not written, and the request
    /// for the third one fails. What the first page brought is not missing.
    @Test(arguments: [false, true])
    func firstPageOutlivesASecondOneThatWasNotWritten(isRestarted: Bool) async throws {
        let limits = Limits.with {
            $0.recordsPerPage = 2
            $0.maximumRecordsPerPage = 2
        }
        let cloud = TestCloud(settings: ServiceSettings(isForDevelopment: true, limits: limits))
        let tablet = try await EngineDevice(cloud, "tablet")
        var all: [String: String] = [:]
        // One by one: no page ends within a batch.
        for name in ["a", "b", "c", "d", "e", "f", "g"] {
            try tablet.save(name, "1")
            try await tablet.sync()
            all[name] = "1"
        }
        let phone = try await FullDiskDevice(cloud)
        let faults = cloud.faults(on: "phone")
        phone.delegate.fail(then: { faults.isCutOff = true }) { $0 == 2 }
        await #expect(throws: CKError.self) { try await phone.engine.fetchChanges() }
        faults.isCutOff = false
        #expect(phone.delegate.store.failure != nil)
        #expect(try phone.texts() == ["a": "1", "b": "1"])
        phone.delegate.fail { _ in false }
        if isRestarted { try phone.restart() }
        try await phone.sync()
        #expect(try phone.texts() == all)
    }

    /// An app asks for a send while its disk is full: the call returns.
    @Test func sendOnAFullDiskReturns() async throws {
        let cloud = TestCloud()
        let phone = try await FullDiskDevice(cloud)
        try phone.save("a", "1")
        for _ in 0..<2 { try await phone.sync() }
        try phone.save("b", "1")
        phone.file.setWriteTrouble { _ in .storageFull }
        try? await phone.engine.fetchChanges()
        #expect(phone.delegate.store.failure != nil)
        // Without an end, the test reaches its time limit.
        try? await phone.engine.sendChanges()
        phone.file.setWriteTrouble(nil)
        try await phone.sync()
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// An automatic engine on a full disk, with something to send, does not ask the service ten times a second.
    @Test func fullDiskDoesNotMakeAnAutomaticEngineBusy() async throws {
        let clock = TestClock()
        let cloud = TestCloud(clock: clock)
        let phone = try await FullDiskDevice(cloud, clock: clock)
        try phone.save("a", "1")
        while try await !phone.cache.pendingRecordIDs().isEmpty {
            clock.advance(bySeconds: 0.5)
            await Task.yield()
        }
        try phone.save("b", "1")
        phone.file.setWriteTrouble { _ in .storageFull }
        // A person pulls to refresh, or a notification comes.
        try? await phone.engine.fetchChanges()
        #expect(phone.delegate.store.failure != nil)
        let count = phone.delegate.fetchCount
        for _ in 0..<200 {
            clock.advance(bySeconds: 0.5)
            for _ in 0..<20 { await Task.yield() }
        }
        // 1, 2, 4, 8, 16, 32 and 64 seconds.
        #expect(phone.delegate.fetchCount - count < 12)
        phone.file.setWriteTrouble(nil)
        var seconds = 0.0
        while try await !phone.cache.pendingRecordIDs().isEmpty, seconds < 2_000 {
            clock.advance(bySeconds: 0.5)
            seconds += 0.5
            await Task.yield()
        }
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// Nothing is sent before the fetch, as `failure` says.
    @Test func nothingIsSentBeforeTheUnwrittenPageWasFetched() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = (
            try await FullDiskDevice(cloud), try await EngineDevice(cloud, "tablet")
        )
        try tablet.save("a", "1")
        for _ in 0..<2 { try await tablet.sync() }
        for _ in 0..<2 { try await phone.sync() }
        try tablet.save("b", "1")
        try await tablet.sync()
        phone.delegate.fail { $0 == 1 }
        try await phone.engine.fetchChanges()
        phone.delegate.fail { _ in false }
        try phone.save("c", "1")
        for _ in 0..<3 { try await phone.engine.sendChanges() }
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1", "b": "1"])
        try await phone.sync()
        try await tablet.sync()
        #expect(try tablet.texts() == ["a": "1", "b": "1", "c": "1"])
    }

    /// As `RemadeZoneTests.zoneRecreatedHereAndDeletedStaysDeleted`, with an engine.
    @Test func zoneRecreatedHereAndDeletedStaysDeleted() async throws {
        let cloud = TestCloud()
        var settings = SyncSettings.quick
        settings.zoneDeletionPolicy = .recreate
        let phone = try await FullDiskDevice(cloud, settings: settings)
        let tablet = try await EngineDevice(cloud, "tablet")
        try phone.save("a", "1")
        // The phone hears of its own zone, and which one of its name it is.
        for _ in 0..<2 { try await phone.sync() }
        try await tablet.sync()
        try await tablet.cache.deleteZone(.list)
        try tablet.store.resume(tablet.engine)
        try await tablet.sync()
        // It makes the zone anew, and its person deletes it.
        try await phone.engine.fetchChanges()
        try? await phone.engine.sendChanges()
        #expect(try await phone.container.privateCloudDatabase.allRecordZones().count == 2)
        try await phone.cache.deleteZone(.list)
        try phone.delegate.store.resume(phone.engine)
        try await phone.engine.sendChanges()
        try await phone.sync()
        try await tablet.sync()
        #expect(try phone.texts().isEmpty)
        #expect(try await phone.cache.zoneIDs().isEmpty)
        #expect(try await tablet.cache.zoneIDs().isEmpty)
    }

    /// An earlier release queued a record of the default zone, which no answer of the service names.
    @Test func recordOfTheDefaultZoneIsStillSent() async throws {
        let cloud = TestCloud()
        let phone = try await FullDiskDevice(cloud) { cache, file in
            let id = CKRecord.ID(recordName: "a", zoneID: .list)
            let record = CKRecord(recordType: "Item", recordID: id)
            record["text"] = "1"
            try cache.save([record])
            // As `wantedZone` made the row before 4614c176.
            try file.execute("UPDATE zone SET name = '\(ZoneID.defaultZoneName)', state = 1")
        }
        try await phone.sync()
        let sent = try await phone.container.privateCloudDatabase.record(
            for: CKRecord.ID(recordName: "a"))
        #expect(sent["text"] == "1")
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }
}
