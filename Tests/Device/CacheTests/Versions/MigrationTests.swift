import Foundation
import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// Older records are migrated to the current version once, even if older apps write meanwhile.
@Suite(.timeLimit(.minutes(20))) struct MigrationTests {
    private func versions(_ current: Int64) -> RecordVersions {
        var versions = RecordVersions()
        versions.declare("Item", key: "version", current: current)
        return versions
    }

    /// The second version, whose title is the first version's text.
    private func renaming(_ reach: RecordVersions.Reach = .edit) -> RecordVersions {
        var versions = versions(2)
        versions.migrate("Item", to: 2, as: reach) { record in
            record["title"] = record["text"] as String?
            return record
        }
        return versions
    }

    private func id(_ name: String) -> CKRecord.ID {
        CKRecord.ID(RecordID(name: name, zoneID: .list))
    }

    // MARK: Older records

    private func migrating(_ reach: RecordVersions.Reach) -> RecordVersions {
        var versions = versions(3)
        versions.migrate("Item", to: 2, as: reach) { record in
            record["title"] = record["text"] as String?
            return record
        }
        versions.migrate("Item", to: 3, as: reach) { record in
            record["title"] = ((record["title"] as String?) ?? "") + "!"
            return record
        }
        return versions
    }

    private func title(_ device: Device, _ name: String) throws -> String? {
        try device.cache.record(for: id(name))?["title"]
    }

    @Test func olderRecordsAreMigratedOnceAndSent() async throws {
        let cloud = RealService()
        let old = try Device(cloud)
        for number in 0..<7 { try old.save("r\(number)", "\(number)") }
        try await old.sync()
        let new = try Device(cloud)
        try await new.sync()
        new.versions = migrating(.edit)
        try new.restart()
        try await new.sync()
        #expect(try title(new, "r3") == "3!")
        #expect(try await cloud.record("r3")?["title"] == .string("3!"))
        #expect(try await cloud.record("r3")?["version"] == .int64(3))
        let saves = cloud.saveCount
        for _ in 0..<3 {
            try new.restart()
            try await new.sync()
        }
        #expect(cloud.saveCount == saves, "Once.")
        // A record that an older app saves later.
        try old.save("late", "late")
        try await old.sync()
        try await new.sync()
        #expect(try await cloud.record("late")?["title"] == .string("late!"))
        // Two devices get the same result, and nothing is lost.
        let third = try Device(cloud, versions: migrating(.edit))
        try await third.sync()
        #expect(try await third.cache.reports().isEmpty)
        #expect(try await new.cache.reports().isEmpty)
        #expect(try third.texts() == new.texts())
    }

    /// The process ends in the middle of the migration.
    @Test func interruptedMigrationContinues() async throws {
        let cloud = RealService()
        let new = try Device(cloud)
        for number in 0..<450 { try new.save("r\(number)", "\(number)") }
        new.versions = migrating(.locally)
        try new.restart()
        _ = try new.cache.store.migrateSome()
        try new.restart()
        _ = try new.cache.store.migrateSome()
        try new.restart()
        try new.cache.migrateRecords()
        for number in 0..<450 { #expect(try title(new, "r\(number)") == "\(number)!") }
        #expect(try new.cache.store.migrateSome() == nil)
    }

    @Test func localMigrationSendsNothing() async throws {
        let cloud = RealService()
        let old = try Device(cloud)
        try old.save("a", "1")
        try await old.sync()
        let new = try Device(cloud, versions: migrating(.locally))
        try await new.sync()
        #expect(try title(new, "a") == "1!")
        #expect(try await cloud.record("a")?["title"] == nil)
        #expect(try await new.cache.pendingRecordIDs().isEmpty)
        // An older app's later edit is migrated when it is fetched.
        try old.save("a", "2")
        try await old.sync()
        try await new.sync()
        #expect(try title(new, "a") == "2!")
        #expect(try await cloud.record("a")?["title"] == nil)
        #expect(try await new.cache.pendingRecordIDs().isEmpty)
    }

    @Test func editOfAnOlderRecordMigratesItFirst() async throws {
        let cloud = RealService()
        let old = try Device(cloud)
        try old.save("a", "1")
        old.versions = migrating(.edit)
        try old.restart()
        // The edit comes before any migration.
        let record = try #require(try await old.cache.record(for: id("a")))
        record["colour"] = "red"
        try await old.cache.save(record)
        #expect(try title(old, "a") == "1!")
        try await old.sync()
        #expect(try await cloud.record("a")?["title"] == .string("1!"))
        #expect(try await cloud.record("a")?["colour"] == .string("red"))
    }

    @Test func failedMigrationLeavesTheRecordAndIsLogged() async throws {
        struct Unfit: Error {}
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save("a", "1")
        var versions = versions(2)
        versions.migrate("Item", to: 2) { _ in throw Unfit() }
        phone.versions = versions
        try phone.restart()
        try phone.cache.migrateRecords()
        #expect(try phone.text("a") == "1")
        #expect(try phone.cache.loggedEvents().contains { $0.kind == "migrationFailed" })
    }

    /// An older app's record that wins a conflict is migrated like one that was fetched.
    @Test func olderRecordThatWinsAConflictIsMigrated() async throws {
        var second = versions(2)
        second.migrate("Item", to: 2) { record in
            record["title"] = record["text"] as String?
            return record
        }
        let cloud = RealService()
        let old = try Device(cloud, versions: versions(1))
        let new = try Device(cloud, resolver: ServerDateWins(), versions: second)
        try old.save("a", "1")
        try await old.sync()
        new.link.beforeNextSend { [old] in
            try old.save("a", "2")
            try await old.sync()
        }
        try await new.sync()
        let stored = try #require(try await cloud.record("a"))
        #expect(stored["version"] == .int64(2))
        #expect(stored["title"] == .string("2"))
    }

    /// The service has the older record, so an edit must send the whole migrated record with the newer version.
    @Test func editOfALocallyMigratedRecordSendsTheWholeRecord() async throws {
        var local = versions(2)
        local.migrate("Item", to: 2, as: .locally) { record in
            record["title"] = record["text"] as String?
            record["text"] = nil as String?
            return record
        }
        let cloud = RealService()
        let old = try Device(cloud, versions: versions(1))
        let new = try Device(cloud, versions: local)
        let other = try Device(cloud, versions: local)
        try old.edit("a", ["text": .string("1"), "colour": .string("red")])
        try await old.sync()
        try await new.sync()
        #expect(try await cloud.record("a")?["version"] == .int64(1))
        try new.edit("a", ["size": .int64(2), "colour": nil])
        try await new.sync()
        let stored = try #require(try await cloud.record("a"))
        #expect(stored["version"] == .int64(2))
        #expect(stored["title"] == .string("1"))
        #expect(stored["text"] == nil && stored["colour"] == nil)
        #expect(stored["size"] == .int64(2))
        for device in [new, other] {
            try await device.sync()
            let here = try #require(
                try device.cache.snapshot(RecordID(name: "a", zoneID: .list)))
            #expect(here.hasSameContent(as: stored))
        }
    }

    // MARK: Older apps meanwhile

    /// The older app edits a field that the migration reads, and is sent first.
    @Test(arguments: [false, true])
    func editOfAnOlderAppIsMigratedWithItsRecord(isTitleEdited: Bool) async throws {
        let cloud = RealService()
        let old = try Device(cloud, versions: versions(1))
        let new = try Device(cloud, versions: renaming())
        try old.edit("a", ["text": .string("1"), "size": .int64(1)])
        try await old.sync()
        new.link.beforeNextSend { [old] in
            cloud.pass()
            try old.edit("a", ["text": .string("2")])
            try await old.sync()
            cloud.pass()
            if isTitleEdited { try new.edit("a", ["title": .string("mine")]) }
        }
        try await new.sync()
        let stored = try #require(try await cloud.record("a"))
        #expect(stored["version"] == .int64(2))
        #expect(stored["title"] == .string(isTitleEdited ? "mine" : "2"))
        #expect(stored["text"] == .string("2") && stored["size"] == .int64(1))
        try await new.sync()
        #expect(try await new.cache.pendingRecordIDs().isEmpty)
        #expect(try title(new, "a") == (isTitleEdited ? "mine" : "2"))
    }

    /// A migration does not count as an edit, however late a device migrates, and whatever else was edited.
    @Test func editWinsOverALaterMigration() async throws {
        let cloud = RealService()
        let phone = try Device(cloud, versions: renaming())
        let tablet = try Device(cloud, versions: versions(1))
        try tablet.edit("a", ["text": .string("1"), "size": .int64(1)])
        try await tablet.sync()
        cloud.pass()
        try await phone.sync()
        try phone.edit("a", ["title": .string("mine")])
        cloud.pass()
        try tablet.edit("a", ["size": .int64(2)])
        tablet.versions = renaming()
        try tablet.restart()
        cloud.pass()
        try tablet.cache.migrateRecords()
        #expect(try title(tablet, "a") == "1")
        try await phone.sync()
        for device in [tablet, phone] {
            try await device.sync()
            #expect(try title(device, "a") == "mine")
            let here = try device.cache.snapshot(RecordID(name: "a", zoneID: .list))
            #expect(here?["size"] == .int64(2))
            #expect(try await device.cache.reports().isEmpty)
        }
    }

    /// Values that an older app wrote without times count with the record's date, and only where the app changed them.
    @Test(arguments: [RecordVersions.Reach.edit, .locally])
    func editWinsOverFieldsUnchangedByAnOlderApp(_ reach: RecordVersions.Reach) async throws {
        let cloud = RealService()
        let plain = FieldWise(fieldTimesKey: nil)
        let old = try Device(cloud, resolver: plain, versions: versions(1))
        let new = try Device(cloud, versions: renaming(reach))
        try old.edit("a", ["text": .string("1"), "size": .int64(1)])
        try await old.sync()
        new.link.beforeNextSend { [old] in
            cloud.pass()
            try new.edit("a", ["size": .int64(2), "title": .string("mine")])
            cloud.pass()
            try old.edit("a", ["colour": .string("red")])
            try await old.sync()
        }
        try await new.sync()
        if reach == .locally {
            // Nothing was sent yet.
            try new.edit("a", ["width": .int64(1)])
            try await new.sync()
        }
        let stored = try #require(try await cloud.record("a"))
        #expect(stored["size"] == .int64(2) && stored["colour"] == .string("red"))
        #expect(stored["title"] == .string("mine"))
    }

    // MARK: Later releases

    /// A later release has another migration, or none.
    @Test(arguments: [false, true])
    func recordMigratedByAnEarlierReleaseIsSentCompletely(isMigratedStill: Bool) async throws {
        let cloud = RealService()
        let old = try Device(cloud, versions: versions(1))
        let new = try Device(cloud, versions: renaming(.locally))
        try old.edit("a", ["text": .string("1")])
        try await old.sync()
        try await new.sync()
        new.versions = isMigratedStill ? renaming(.edit) : versions(2)
        try new.restart()
        try await new.sync()
        try new.edit("a", ["size": .int64(2)])
        try await new.sync()
        let stored = try #require(try await cloud.record("a"))
        #expect(stored["version"] == .int64(2))
        #expect(stored["title"] == .string("1"))
        #expect(stored["size"] == .int64(2))
    }

    @Test func recordOfAnOlderReportIsMigratedOnRestore() async throws {
        let cloud = RealService()
        let (old, other) = (
            try Device(cloud, versions: versions(1)), try Device(cloud, versions: versions(1))
        )
        try old.edit("a", ["text": .string("1"), "size": .int64(1)])
        try old.edit("b", ["text": .string("1"), "size": .int64(1)])
        try await old.sync()
        try await other.sync()
        try old.edit("a", ["text": .string("mine")])
        try old.edit("b", ["text": .string("mine")])
        cloud.pass()
        try other.edit("a", ["text": .string("theirs"), "size": .int64(2)])
        try other.delete("b")
        try await other.sync()
        try await old.sync()
        old.versions = renaming()
        try old.restart()
        try await old.sync()
        #expect(try title(old, "a") == "theirs")
        let reports = try await old.cache.reports()
        #expect(reports.count == 2)
        for report in reports { try old.cache.restore(report) }
        try await old.sync()
        for name in ["a", "b"] {
            let stored = try #require(try await cloud.record(name))
            #expect(stored["version"] == .int64(2))
            #expect(stored["title"] == .string("mine"))
            #expect(stored["size"] == .int64(name == "a" ? 2 : 1))
        }
    }
}
