import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Records of newer apps are kept unchanged; older records are migrated to the current version, once.
@Suite(.timeLimit(.minutes(20))) struct VersionTests {
    private func versions(
        _ current: Int64, _ policy: RecordVersions.NewerRecords = .haltZone,
        _ sight: RecordVersions.Sight = .readOnly
    ) -> RecordVersions {
        var versions = RecordVersions()
        versions.declare("Item", key: "version", current: current)
        versions.newerRecords = policy
        versions.sight = sight
        return versions
    }

    private func id(_ name: String, _ zone: ZoneID = .list) -> CKRecord.ID {
        CKRecord.ID(RecordID(name: name, zoneID: zone))
    }

    private func names(_ device: Device) throws -> [String] {
        try device.cache.records(ofType: "Item", inZoneWith: CKRecordZone.ID(.list))
            .map(\.recordID.recordName)
    }

    /// The new app and the old one, with a record "a" that one of them created.
    private func devices(
        _ old: RecordVersions, savedBy author: String
    ) async throws -> (cloud: RealService, new: Device, old: Device) {
        let cloud = RealService()
        let new = try Device(cloud, versions: versions(2))
        let old = try Device(cloud, versions: old)
        let (first, second) = author == "new" ? (new, old) : (old, new)
        try first.save("a", "1")
        for device in [first, second] { try await device.sync() }
        return (cloud, new, old)
    }

    /// The new app, and the old one, which does not know that its save of "a" has arrived.
    private func devicesWithUnansweredSave() async throws -> (
        cloud: RealService, new: Device, old: Device
    ) {
        let cloud = RealService()
        let new = try Device(cloud, versions: versions(2))
        let old = try Device(cloud, versions: versions(1))
        try old.save("other", "1")
        for device in [old, new] { try await device.sync() }
        try old.save("a", "1")
        let batch = try old.cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        _ = try await old.remote.send(batch, isAtomic: false, operationID: "sent")
        try old.restart()
        try await new.sync()
        return (cloud, new, old)
    }

    /// The old app fetches the new app's record.
    private func haltZone(of old: Device) async throws {
        // The zone waits for the update, and so may the sync.
        try? await old.cache.sync()
        #expect(try await old.cache.status().zonesAwaitingUpdate == 1)
    }

    @Test func newerRecordHaltsItsZoneUntilTheAppIsUpdated() async throws {
        let cloud = RealService()
        let new = try Device(cloud, versions: versions(2))
        let old = try Device(cloud, versions: versions(1))
        try old.save("a", "1")
        try old.save("other", "1", zone: .other)
        try await old.sync()
        try await new.sync()
        try new.save("a", "from the new app")
        try new.save("b", "from the new app")
        try await new.sync()
        #expect(try await cloud.record("a")?["version"] == .int64(2))
        try await old.sync()
        // The record is kept, shown, and not changed.
        #expect(try old.text("a") == "from the new app")
        let error = #expect(throws: CacheError.self) { try old.save("a", "again") }
        #expect(error?.code == .newerRecord)
        #expect(throws: CacheError.self) { try old.delete("a") }
        // The zone waits, for fetches and for sends; the other zone continues to sync.
        try old.save("c", "mine")
        try old.save("other", "2", zone: .other)
        try new.save("d", "later")
        try await new.sync()
        try await old.sync()
        #expect(try await cloud.names() == ["a", "b", "d"])
        #expect(try await cloud.record("other", in: .other)?["text"] == .string("2"))
        #expect(try old.text("d") == nil)
        let status = try await old.cache.status()
        #expect(status.zonesAwaitingUpdate == 1 && status.summary == "Update")
        #expect(
            status.line
                == "A newer app has written records; update this one to sync everything. "
                + "1 change waits on this device.")
        guard
            case .newerRecords(CKRecordZone.ID(.list), "Item", true) = try await old.cache.reports()
                .first?.event
        else {
            Issue.record("The app was not notified.")
            return
        }
        #expect(try await old.cache.reports().count == 1)
        try old.restart()
        try await old.sync()
        #expect(try old.text("d") == nil, "also after a restart")
        old.versions = versions(2)
        try old.restart()
        try await old.sync()
        try await new.sync()
        #expect(try old.texts() == new.texts())
        #expect(try await cloud.names() == ["a", "b", "c", "d"])
        #expect(try await old.cache.status().zonesAwaitingUpdate == 0)
    }

    /// The page with the newer record could not be stored at first, as on a full disk.
    @Test func zoneWhoseNewerRecordWasNotStoredIsFetchedAgain() async throws {
        let (_, new, old) = try await devices(versions(1), savedBy: "old")
        try new.save("a", "from the new app")
        try await new.sync()
        try await old.cache.file.pool.write { database in
            try database.execute(
                sql: """
                    CREATE TRIGGER refusal BEFORE UPDATE OF token ON zone
                    BEGIN SELECT RAISE(ABORT, 'The page is not stored.'); END
                    """)
        }
        await #expect(throws: CacheError.self) { try await old.cache.sync() }
        #expect(try old.text("a") == "1")
        try await old.cache.file.pool.write { database in
            try database.execute(sql: "DROP TRIGGER refusal")
        }
        try await old.sync()
        #expect(try old.text("a") == "from the new app")
        #expect(try await old.cache.status().zonesAwaitingUpdate == 1)
    }

    /// The transaction ended the zone's wait, and then failed in another database.
    @Test func zoneStillWaitsAfterAFailedDeletionOfEverything() async throws {
        let cloud = RealService()
        let new = try Device(cloud, versions: versions(2))
        let old = try Device(cloud, otherScopes: [.shared], versions: versions(1))
        try new.save("a", "from the new app")
        try await new.sync()
        try await old.sync()
        #expect(try await old.cache.status().zonesAwaitingUpdate == 1)
        try await old.expectFailedDeletionOfEverything()
        #expect(try await old.cache.status().zonesAwaitingUpdate == 1)
    }

    @Test func zoneContinuesAndNewerRecordsAreHidden() async throws {
        let (cloud, new, old) = try await devices(versions(1, .goOn, .hidden), savedBy: "old")
        try new.save("a", "from the new app")
        try await new.sync()
        // The unsent edit is overruled.
        try old.save("a", "mine")
        try old.save("b", "mine")
        try await old.sync()
        #expect(try names(old) == ["b"])
        #expect(try await old.cache.record(for: id("a")) == nil)
        #expect(try await cloud.record("a")?["text"] == .string("from the new app"))
        #expect(try await cloud.record("b")?["text"] == .string("mine"))
        let events = try await old.cache.reports().map(\.event)
        #expect(
            events.contains {
                if case .editOverruled(let client, _, ["text"]) = $0 {
                    client["text"] == "mine"
                } else {
                    false
                }
            })
        old.versions = versions(2)
        try old.restart()
        #expect(try names(old) == ["a", "b"], "It was kept.")
    }

    /// The old app cannot migrate the service's record, so only the new app can merge the two.
    @Test func newerRecordLostInRestoreIsNotMergedByAnOlderApp() async throws {
        let (cloud, new, old) = try await devices(versions(1, .goOn), savedBy: "old")
        let other = try Device(cloud, versions: versions(1, .goOn))
        try await other.sync()
        let copy = try cloud.copy()
        try new.save("a", "from the new app")
        try await new.sync()
        try await old.sync()
        #expect(try old.text("a") == "from the new app")
        try cloud.restore(copy)
        try other.save("a", "later")
        try await other.sync()
        try await old.sync()
        #expect(try old.text("a") == "later")
        #expect(try await cloud.record("a")?["version"] == .int64(1))
        let events = try await old.cache.reports().map(\.event)
        #expect(
            events.contains {
                if case .editOverruled(let client, _, ["text"]) = $0 {
                    client["text"] == "from the new app"
                } else {
                    false
                }
            })
        try await new.sync()
        #expect(try await cloud.record("a")?["version"] == .int64(2))
        #expect(try new.text("a") == "later")
    }

    /// The old app's save arrived without an answer; the new app's record at the service shows that it did.
    @Test(arguments: [false, true])
    func unansweredRecordEditedByNewerAppStaysDeleted(isDeletedHere: Bool) async throws {
        let (_, new, old) = try await devicesWithUnansweredSave()
        try new.save("a", "from the new app")
        try await new.sync()
        if isDeletedHere { try old.delete("a") }
        try await haltZone(of: old)
        if !isDeletedHere { try new.delete("a") }
        try await new.sync()
        try await update(old, with: new, to: ["other": "1"])
    }

    /// The record is deleted while its zone waits, after the zone's changes have shown that its save had arrived.
    @Test func unansweredRecordDeletedWhileItsZoneIsHaltedStaysDeleted() async throws {
        let (_, new, old) = try await devicesWithUnansweredSave()
        try new.save("a", "from the new app")
        try await new.sync()
        try await haltZone(of: old)
        try old.delete("a")
        try await update(old, with: new, to: ["other": "1"])
    }

    /// An unanswered save arrived, and a newer app deleted the record and recreated it.
    @Test func recordRecreatedByNewerAppSurvivesDeletionInHaltedZone() async throws {
        let (cloud, new, old) = try await devicesWithUnansweredSave()
        try new.delete("a")
        try await new.sync()
        cloud.pass()
        try new.save("a", "another")
        try await new.sync()
        try await haltZone(of: old)
        try old.delete("a")
        try await update(old, with: new, to: ["other": "1", "a": "another"])
    }

    /// The old app is updated, and both devices have the texts afterwards.
    private func update(
        _ old: Device, with new: Device, to texts: [String: String]
    ) async throws {
        old.versions = versions(2)
        try old.restart()
        for device in [old, new] {
            try await device.sync()
            #expect(try device.texts() == texts)
        }
    }

    /// Only the person can decide whether the newer app's version is to be deleted too.
    @Test(arguments: [false, true])
    func deletionOfNewerRecordNeedsAttention(isRetried: Bool) async throws {
        let (cloud, new, old) = try await devices(versions(1, .goOn), savedBy: "old")
        try old.delete("a")
        try new.save("a", "from the new app")
        try await new.sync()
        try await old.sync()
        #expect(try await cloud.record("a")?["text"] == .string("from the new app"))
        let items = try await old.cache.attentionItems()
        #expect(items.map(\.kind) == [.delete])
        #expect(items.map(\.failure.code) == [.incompatibleVersion])
        if isRetried {
            old.versions = versions(2)
            try old.restart()
            try await old.cache.retryAttentionItems()
        } else {
            try await old.cache.discardAttentionItems(items)
            #expect(try old.text("a") == "from the new app")
        }
        for device in [old, new] {
            try await device.sync()
            #expect(try device.texts() == (isRetried ? [:] : ["a": "from the new app"]))
        }
    }

    @Test(arguments: [false, true])
    func conflictWithNewerRecordIsResolvedAfterUpdate(isFullFetch: Bool) async throws {
        let (cloud, new, old) = try await devices(versions(1), savedBy: "old")
        try old.save("a", "mine")
        cloud.pass()
        try new.save("a", "newer")
        try await new.sync()
        if isFullFetch { try await old.cache.refetchEverything() }
        try await old.sync()
        #expect(try old.text("a") == "mine")
        #expect(try await cloud.record("a")?["text"] == .string("newer"))
        old.versions = versions(2)
        try old.restart()
        try await old.sync()
        #expect(try old.text("a") == "newer")
        #expect(try await old.cache.pendingRecordIDs().isEmpty)
    }

    /// The process that found the newer record ends, and another process with the same file takes over.
    @Test func otherProcessKeepsTheZoneHalted() async throws {
        let (cloud, new, old) = try await devices(versions(1), savedBy: "old")
        let other = try CloudCache(
            path: old.path, remotes: [old.remote], settings: .quick, versions: versions(1))
        try old.save("a", "mine")
        cloud.pass()
        try new.save("a", "newer")
        try await new.sync()
        try await old.sync()
        try old.cache.close()
        try await other.sync()
        #expect(try other.snapshot(RecordID(name: "a", zoneID: .list))?["text"] == .string("mine"))
        #expect(try await cloud.record("a")?["text"] == .string("newer"))
        #expect(try await other.status().zonesAwaitingUpdate == 1)
        try other.close()
    }

    @Test func deletionOfHaltedZoneEndsTheHalt() async throws {
        let (cloud, _, old) = try await devices(versions(1), savedBy: "new")
        #expect(try await old.cache.status().zonesAwaitingUpdate == 1)
        try await cloud.deleteZone(.list)
        try await old.sync()
        #expect(try await old.cache.status().zonesAwaitingUpdate == 0)
        try old.restart()
        try old.save("b", "1")
        try await old.sync()
        #expect(try await cloud.names() == ["b"])
    }
}
