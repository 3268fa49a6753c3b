// The Swift of Documentation/OfflineFirst.md; OfflineFirstTests runs it. What the guide leaves out
// (functions around it) is added here.
import CloudKit
import Foundation
import GRDB
import StratusCache
import StratusTesting
import Testing

enum Note {
    static let title = RecordField<String>("title")
    static let isDone = RecordField<Bool>("isDone")
    static let date = RecordField<Date>("date")
}

enum OfflineFirst {
    static let zone = CKRecordZone.ID(zoneName: "Notes")

    static func open(_ path: String, _ container: CKContainer) throws -> CloudCache {
        let cache = try CloudCache(
            path: path, container: container,
            types: [
                CachedType("Note", indexed: ["isDone", "date"], searchable: ["title"])
            ])
        return cache
    }

    static func write(_ cache: CloudCache) async throws -> CKRecord {
        let id = CKRecord.ID(recordName: "milk", zoneID: zone)
        let note = CKRecord(recordType: "Note", recordID: id)
        note["title"] = "Buy milk"
        note["isDone"] = false
        note["date"] = Date()
        try await cache.save(note)  // on the disk, and in the queue

        let same = try await cache.record(for: id)
        print(same?["title"] ?? "not here")
        return note
    }

    static func ask(_ cache: CloudCache) async throws -> [CKRecord] {
        let open = CacheQuery("Note")
            .where(Note.isDone == false)
            .sorted(by: Note.date, ascending: false)
            .limited(to: 20)
        let page = try await cache.page(matching: open)
        let next = try await cache.page(matching: open.after(page.cursor))
        let count = try await cache.count(matching: CacheQuery("Note"))
        print(page.records.count, "and", next.records.count, "of", count)

        let found = try await cache.records(
            matching: CacheQuery("Note")
                .where(NSPredicate(format: "title TOKENMATCHES %@ OR isDone == 1", "milk")))
        return found
    }

    static func follow(_ cache: CloudCache, until count: Int) async throws -> [String] {
        let open = CacheQuery("Note").where(Note.isDone == false).sorted(by: Note.date)
        var lines: [String] = []
        for try await update in try cache.observe(open) {
            lines = update.records.map { $0["title"] ?? "" }  // all, as they are now
            for change in update.changes where change.author != .thisDevice {
                print(change.recordID.recordName, "was", change.kind, "by", change.author)
            }
            if lines.count == count { break }
        }
        return lines
    }

    @MainActor static func show(_ cache: CloudCache) throws -> LiveRecords {
        let notes = try LiveRecords(CacheQuery("Note").sorted(by: Note.date), of: cache)
        return notes
    }

    static func watchFullFetch(of cache: CloudCache) async throws {
        for try await status in cache.statuses() {
            guard let fetch = status.fetch else { continue }
            print(fetch.appliedCount, "of", fetch.appliedCount + (fetch.remainingCount ?? 0))
        }
    }

    static func askPublicly(_ cache: CloudCache) async throws -> [CKRecord] {
        let huts = CKQuery(recordType: "Hut", predicate: NSPredicate(format: "beds > 10"))
        let answer = try await cache.publicRecords(matching: huts, age: .cached(upTo: .seconds(60)))
        if answer.isStale { print("as of", answer.date) }
        return answer.records
    }

    static func ownTable(_ cache: CloudCache, _ note: CKRecord) async throws -> [String] {
        try await cache.write { transaction in
            let database = transaction.database
            try database.execute(
                sql: "CREATE TABLE IF NOT EXISTS app_pin (note TEXT PRIMARY KEY, place INTEGER)")
            note["isDone"] = true
            try transaction.save(note)
            try database.execute(sql: "INSERT INTO app_pin VALUES ('milk', 1)")
        }
        let pinned = try await cache.read { database in
            try String.fetchAll(
                database,
                sql: """
                    SELECT title FROM records_Note JOIN app_pin ON note = _recordName
                    ORDER BY place
                    """)
        }
        return pinned
    }
}

@Suite struct OfflineFirstTests {
    /// Runs the guide's code from the first line to the last, against a complete cloud.
    @Test(.timeLimit(.minutes(20))) func guideCodeRunsAgainstTestCloud() async throws {
        let cloud = TestCloud()
        let container = try await cloud.container(
            "iCloud.org.example.Notes", user: "alice", device: "phone")
        let path = FileManager.default.temporaryDirectory
            .appendingPathComponent("notes-\(UUID().uuidString).sqlite").path
        let cache = try OfflineFirst.open(path, container)
        let watcher = Task { try await OfflineFirst.watchFullFetch(of: cache) }
        let follower = Task { try await OfflineFirst.follow(cache, until: 1) }
        let note = try await OfflineFirst.write(cache)
        #expect(try await follower.value == ["Buy milk"])
        #expect(try await OfflineFirst.ask(cache).count == 1)
        let hut = CKRecord(recordType: "Hut")
        hut["beds"] = 24
        _ = try await container.publicCloudDatabase.save(hut)
        #expect(try await OfflineFirst.askPublicly(cache).count == 1)
        let live = try await OfflineFirst.show(cache)
        #expect(try await OfflineFirst.ownTable(cache, note) == ["Buy milk"])
        try await cache.sync()
        #expect(try await cache.pendingRecordIDs().isEmpty)
        watcher.cancel()
        withExtendedLifetime(live) {}
        try cache.close()
        for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) }
    }
}
