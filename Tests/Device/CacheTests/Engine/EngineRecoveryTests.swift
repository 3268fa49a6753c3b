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

/// What an engine's store does after a failed write, and what a full fetch shows about zones.
@Suite(.timeLimit(.minutes(20))) struct EngineRecoveryTests {
    /// Nothing else makes the engine fetch the zone: no change is pending, and the database's token is past the change.
    @Test(arguments: [false, true])
    func unwrittenPageIsFetchedAgain(isRestartedLater: Bool) async throws {
        let (_, phone, tablet) = try await FullDiskDevice.withTablet()
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

    /// The first page of a first fetch is written and its token stored. The second one is not written, and the request
    /// for the third one fails. The records of the first page do not count as missing.
    @Test(arguments: [false, true])
    func recordsOfFirstPageSurviveUnwrittenSecondPage(isRestarted: Bool) async throws {
        let limits = Limits.with {
            $0.recordsPerPage = 2
            $0.maximumRecordsPerPage = 2
        }
        let cloud = TestCloud(settings: ServiceSettings(isForDevelopment: true, limits: limits))
        let tablet = try await EngineDevice(cloud, "tablet")
        var all: [String: String] = [:]
        // Sent one by one, so that no page ends within a batch.
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

    /// An app sends while its disk is full: the call returns.
    @Test func sendOnAFullDiskReturns() async throws {
        let cloud = TestCloud()
        let phone = try await FullDiskDevice(cloud)
        try phone.save("a", "1")
        for _ in 0..<2 { try await phone.sync() }
        try phone.save("b", "1")
        phone.file.setWriteFailure { _ in .storageFull }
        // The store's failure is what the test checks.
        try? await phone.engine.fetchChanges()
        #expect(phone.delegate.store.failure != nil)
        // Without a return the test would reach its time limit.
        try? await phone.engine.sendChanges()
        phone.file.setWriteFailure(nil)
        try await phone.sync()
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// An automatic engine with a pending change on a full disk does not ask the service ten times a second.
    @Test func automaticEngineBacksOffOnAFullDisk() async throws {
        let clock = TestClock()
        let cloud = TestCloud(clock: clock)
        let phone = try await FullDiskDevice(cloud, clock: clock)
        try phone.save("a", "1")
        while try await !phone.cache.pendingRecordIDs().isEmpty {
            clock.advance(bySeconds: 0.5)
            await Task.yield()
        }
        try phone.save("b", "1")
        phone.file.setWriteFailure { _ in .storageFull }
        // For example, a person pulls to refresh, or a notification arrives.
        try? await phone.engine.fetchChanges()
        #expect(phone.delegate.store.failure != nil)
        let count = phone.delegate.fetchCount
        for _ in 0..<200 {
            clock.advance(bySeconds: 0.5)
            for _ in 0..<20 { await Task.yield() }
        }
        // The pauses are 1, 2, 4, 8, 16, 32 and 64 seconds.
        #expect(phone.delegate.fetchCount - count < 12)
        phone.file.setWriteFailure(nil)
        var seconds = 0.0
        while try await !phone.cache.pendingRecordIDs().isEmpty, seconds < 2_000 {
            clock.advance(bySeconds: 0.5)
            seconds += 0.5
            await Task.yield()
        }
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// The engine's state cannot be read for a while after a full disk: the planned fetch fails, and the next one is
    /// planned.
    @Test func failedRecoveryIsRepeated() async throws {
        let clock = TestClock()
        let cloud = TestCloud(clock: clock)
        let phone = try await FullDiskDevice(cloud, clock: clock)
        func wait(seconds: Double, _ isDone: () async throws -> Bool) async throws {
            for _ in 0..<Int(seconds * 2) {
                if try await isDone() { return }
                clock.advance(bySeconds: 0.5)
                for _ in 0..<20 { await Task.yield() }
            }
        }
        try phone.save("a", "1")
        try await wait(seconds: 60) { try await phone.cache.pendingRecordIDs().isEmpty }
        try phone.save("b", "1")
        phone.file.setWriteFailure { _ in .storageFull }
        // The store's failure is what the test checks.
        try? await phone.engine.fetchChanges()
        #expect(phone.delegate.store.failure != nil)
        phone.file.setWriteFailure(nil)
        try phone.file.execute(
            """
            INSERT INTO flag (database, name, value)
                SELECT database, 'kept', value FROM flag WHERE name = 'engineState';
            UPDATE flag SET value = '' WHERE name = 'engineState';
            """)
        let count = phone.delegate.fetchCount
        try await wait(seconds: 120) { phone.delegate.fetchCount - count >= 4 }
        #expect(phone.delegate.fetchCount - count >= 4)
        #expect(phone.delegate.store.failure != nil)
        try phone.file.execute(
            """
            UPDATE flag SET value = (SELECT value FROM flag WHERE name = 'kept')
                WHERE name = 'engineState';
            DELETE FROM flag WHERE name = 'kept';
            """)
        try await wait(seconds: 600) { try await phone.cache.pendingRecordIDs().isEmpty }
        #expect(phone.delegate.store.failure == nil)
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// Nothing is sent before the fetch, as the documentation of `failure` says.
    @Test func unwrittenPageIsFetchedBeforeAnythingIsSent() async throws {
        let (_, phone, tablet) = try await FullDiskDevice.withTablet()
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

    /// As `RecreatedZoneTests.zoneRecreatedHereAndDeletedStaysDeleted`, with an engine.
    @Test func zoneRecreatedHereAndDeletedStaysDeleted() async throws {
        let cloud = TestCloud()
        var settings = SyncSettings.quick
        settings.zoneDeletionPolicy = .recreate
        let phone = try await FullDiskDevice(cloud, settings: settings)
        let tablet = try await EngineDevice(cloud, "tablet")
        try phone.save("a", "1")
        // The phone fetches its own zone, and with it the zone's generation.
        for _ in 0..<2 { try await phone.sync() }
        try await tablet.sync()
        try await tablet.cache.deleteZone(.list)
        try tablet.store.resume(tablet.engine)
        try await tablet.sync()
        // The phone recreates the zone, and its person deletes it.
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
            // The row as `wantedZone` wrote it before 4614c176.
            try file.execute("UPDATE zone SET name = '\(ZoneID.defaultZoneName)', state = 1")
        }
        try await phone.sync()
        let sent = try await phone.container.privateCloudDatabase.record(
            for: CKRecord.ID(recordName: "a"))
        #expect(sent["text"] == "1")
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }
}
