import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import TestSeeds
import Testing

@testable import StratusCache

/// Cache files from earlier builds, with rows of every kind: they open, and their rows can be read.
@Suite struct StoredCacheTests {
    /// Opens a copy, and closes it after the test.
    private func withCache(_ name: String, _ body: (CloudCache) throws -> Void) throws {
        let fixture = try StoredFormatFixture(name)
        let clouds = [CKDatabase.Scope.private, .shared].map {
            RealService().remote($0)
        }
        let cache = try CloudCache(path: fixture.cachePath, remotes: clouds)
        try body(cache)
        try cache.close()
    }

    private func id(_ name: String, _ zone: String = "Notes") -> RecordID {
        RecordID(name: name, zoneID: ZoneID(name: zone))
    }

    /// A new table needs a fixture that has a row of it.
    @Test func everyTableHasARow() throws {
        try withCache(try #require(StoredFormatFixture.caches.last)) { cache in
            let empty = try cache.store.pool.read { database in
                try String.fetchAll(
                    database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'"
                ).filter { table in
                    try Int.fetchOne(database, sql: "SELECT count(*) FROM \"\(table)\"") == 0
                }
            }
            #expect(empty.isEmpty, "Add rows to Tests/Fixtures/Formats.")
        }
    }

    /// A new format needs a fixture.
    @Test func newestFixtureHasCurrentFormat() throws {
        func number(_ queue: DatabaseQueue) throws -> Int? {
            try queue.read { try Int.fetchOne($0, sql: "PRAGMA user_version") }
        }
        let fixture = try StoredFormatFixture(#require(StoredFormatFixture.caches.last))
        let today = try DatabaseQueue()
        _ = try CacheFormat.format.migrate(today)
        let newest = try DatabaseQueue.other(fixture.cachePath)
        #expect(try number(newest) == number(today), "Add a folder to Tests/Fixtures/Formats.")
        try newest.close()
    }

    /// The comparison also finds damage in the SQL text of a table.
    @Test(arguments: StoredFormatFixture.caches)
    func migratedFileHasTheTablesOfANewOne(_ name: String) throws {
        try withCache(name) { cache in
            let found = try cache.store.read { try CacheFormat.schema(of: $0) }
            #expect(try CacheFormat.schemaOfEmptyFile().subtracting(found).isEmpty)
        }
    }

    /// The app has its own table with the name of one that a migration creates: this is not damage.
    @Test func fileWithConflictingTableIsNotReplaced() throws {
        let fixture = try StoredFormatFixture("2026-11-databases")
        let clouds = [CKDatabase.Scope.private, .shared].map { RealService().remote($0) }
        let app = try DatabaseQueue.other(fixture.cachePath)
        try app.write { try $0.execute(sql: "CREATE TABLE event (mine)") }
        let error = #expect(throws: CacheError.self) {
            try CloudCache(path: fixture.cachePath, remotes: clouds)
        }
        #expect(error?.code == .unwritable && error?.cause is DatabaseError)
        try app.write { try $0.execute(sql: "DROP TABLE event") }
        try app.close()
        let cache = try CloudCache(path: fixture.cachePath, remotes: clouds)
        #expect(try cache.zoneIDs().count == 5)
        try cache.close()
    }

    /// Zones, changes and tombstones of both databases.
    @Test func bothDatabasesReadBack() throws {
        try withCache("2026-11-databases") { cache in
            let trips = CKRecordZone.ID(zoneName: "Trips", ownerName: "_bob")
            #expect(try cache.zoneIDs(in: .shared) == [trips])
            #expect(
                try cache.zoneIDs().map(\.zoneName).sorted()
                    == ["Notes", "Photos", "Refused", "Replaced", "Wanted"])
            let shared = try cache.database(.shared).store
            #expect(try shared.databaseToken() == "shared-2")
            #expect(try cache.store.databaseToken() == "database-2")
            let queue = try shared.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
            #expect(queue.map(\.change.id.name) == ["stage 1", "stage 2"])
            #expect(queue.map(\.change.kind) == [.save, .delete])
            #expect(queue.first?.base?["title"] == .string("from Bob"))
            #expect(queue.first?.client?["title"] == .string("edited offline"))
            let tombstones = try cache.store.pool.read { database in
                try String.fetchAll(
                    database,
                    sql: """
                        SELECT database || ' ' || owner || '/' || zone || '/' || name FROM tombstone
                        ORDER BY 1
                        """)
            }
            #expect(tombstones.contains("2 __defaultOwner__/Notes/deleted elsewhere"))
            #expect(tombstones.contains("3 _bob/Gone/"))
        }
    }

    /// The values of a column of the tombstones that have one, by name.
    private func tombstones(of cache: CloudCache, _ column: String) throws -> [[String: Int64]] {
        try cache.store.pool.read { database in
            try Row.fetchAll(
                database, sql: "SELECT name, \(column) FROM tombstone WHERE \(column) IS NOT NULL"
            ).map { [$0[0] as String: $0[1] as Int64] }
        }
    }

    @Test func timesOfDeletionsReadBack() throws {
        try withCache("2026-11-deletions") { cache in
            let times = try tombstones(of: cache, "deleted")
            #expect(times == [["deleted offline": 1_790_000_000_000]])
        }
    }

    @Test func deletedRecordsReadBack() throws {
        try withCache("2026-11-records") { cache in
            let records = try tombstones(of: cache, "madeAnew")
            #expect(records == [["deleted offline": 1_780_000_002_000]])
        }
    }

    @Test func deletionsOfUnansweredSavesReadBack() throws {
        try withCache("2026-11-unanswered") { cache in
            let sent = try cache.store.read { database in
                let zone = ZoneID(name: "Notes")
                let row = try #require(try cache.store.zone(zone, database))
                return try cache.store.repeatableDeletions(in: row, database).unanswered
            }
            #expect(sent.keys.sorted() == ["deleted offline"])
            #expect(sent["deleted offline"]?.milliseconds == 1_790_000_000_000)
            #expect(sent["deleted offline"]?.sent == [0x0807_0605_0403_0201])
        }
    }

    /// Also after the migration: views of declared types, triggers and references still refer to the recreated table.
    @Test(arguments: ["2026-11-records", "2026-11-names"])
    func recordsAreFoundByTheHashesOfTheirNames(_ name: String) throws {
        try withCache(name) { cache in
            let (hashes, problems) = try cache.store.read { database in
                (
                    try Row.fetchAll(database, sql: "SELECT name, nameHash FROM record"),
                    try Row.fetchAll(database, sql: "PRAGMA foreign_key_check").count
                )
            }
            #expect(problems == 0)
            #expect(!hashes.isEmpty)
            for row in hashes { #expect(row[1] as Int64 == NameHash.of(row[0])) }
            // The hash of "abc", from FIPS 180.
            #expect(NameHash.of("abc") == -0x4587_e940_70fe_3016)
            let triggers = try cache.store.read { database in
                try String.fetchAll(
                    database,
                    sql: """
                        SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'record'
                        ORDER BY name
                        """)
            }
            #expect(triggers == ["recordAssetsChanged", "recordAssetsGone", "recordAssetsMade"])
            let record = try #require(try cache.snapshot(id("untouched")))
            #expect(record.id.name == "untouched")
        }
    }

    /// Reports that the app has not read, and changes that other processes have not read.
    @Test func reportsAndChangesReadBack() throws {
        try withCache("2026-11-databases") { cache in
            let reports = try cache.reports()
            #expect(reports.allSatisfy { $0.date.timeIntervalSince1970 == 1_790_000_000 })
            let kinds = reports.map { report in
                switch report.event {
                case .zoneSetAside(let zone, let failure):
                    "zone refused: \(zone.zoneName), \(failure.message)"
                case .zoneDeleted(let zone, .deleted, let lost): "gone: \(zone.zoneName) \(lost)"
                case .setAside(let item): "refused: \(item.recordID.recordName)"
                case .editOfDeletedRecord(let client):
                    "too late: \(client.recordID.recordName) \(client["title"] as String? ?? "")"
                default: "\(report.event)"
                }
            }
            #expect(
                kinds.sorted() == [
                    "gone: Gone []", "refused: refused",
                    "too late: deleted elsewhere too late",
                    "zone refused: Refused, No such zone for you.",
                ])
            cache.file.seenChange.withLock { $0 = 0 }
            let changes = try #require(try cache.file.takeForeignChanges())
            #expect(Set(changes.map(\.scope)) == [.private, .shared])
            #expect(changes.contains { $0.ids.contains(id("every type")) })
        }
    }

    @Test(arguments: StoredFormatFixture.caches)
    func everyTypeOfValueReadsBack(_ name: String) throws {
        try withCache(name) { cache in
            let names = EveryFieldType.fields.map(\.name)
            let new = try #require(try cache.snapshot(id("new")))
            #expect(new.parentRecordName == "every type" && new.system == nil)
            let values = new.fields.filter { names.contains($0.name) }
            #expect(values.sorted { $0.name < $1.name } == EveryFieldType.fields)
            // The service's record has the same values, except the field that was edited here.
            let fetched = try #require(try cache.snapshot(id("every type")))
            #expect(fetched["text"] == .string("edited twice offline"))
            let others = fetched.fields.filter { names.contains($0.name) && $0.name != "text" }
            #expect(others == EveryFieldType.fields.filter { $0.name != "text" })
        }
    }

    @Test(arguments: StoredFormatFixture.caches)
    func systemFieldsAndSharesReadBack(_ name: String) throws {
        try withCache(name) { cache in
            let beach = try #require(try cache.snapshot(id("beach", "Photos")))
            #expect(beach.parentRecordName == "album")
            #expect(
                beach.system
                    == .init(
                        changeTag: "tag-1", createdMilliseconds: 1_780_000_000_000,
                        creatorRecordName: "_alice", modifiedMilliseconds: 1_780_000_001_000,
                        modifierRecordName: "_bob", shareRecordName: "share of beach"))
            let share = try #require(try cache.snapshot(id("share of beach", "Photos")))
            #expect(share.system?.sharing == Array(#"{"participants":[]}"#.utf8))
        }
    }

    /// The queue: pending changes, refused ones, and the base of an edit.
    @Test(arguments: StoredFormatFixture.caches)
    func pendingChangesReadBack(_ name: String) throws {
        try withCache(name) { cache in
            let pending = try cache.pendingRecordIDs().map(\.recordName)
            let waiting = [
                "conflict", "lost answer", "every type", "new", "deleted offline", "made anew",
                "first",
            ]
            #expect(pending.filter { waiting.contains($0) } == waiting)
            let attention = try cache.attentionItems()
            #expect(attention.map(\.recordID.recordName) == ["waiting", "refused"])
            #expect(
                attention.map(\.failure.message) == [
                    "No such zone for you.", "The title is too long.",
                ])
            let queue = try cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
            let edited = queue.first { $0.change.id.name == "every type" }
            #expect(edited?.base?["text"] == .string("Größe 😀\n\0"))
            #expect(edited?.client?["text"] == .string("edited twice offline"))
            #expect(queue.first { $0.change.id.name == "deleted offline" }?.change.kind == .delete)
            #expect(try cache.snapshot(id("deleted offline")) == nil)
            #expect(try cache.store.databaseToken() == "database-2")
        }
    }

    @Test func newerFormatIsRefused() throws {
        let fixture = try StoredFormatFixture()
        let queue = try DatabaseQueue.other(fixture.cachePath)
        try queue.inDatabase { database in
            // "StrC" marks a cache's file since format 3.
            try database.execute(sql: "PRAGMA application_id = 0x53747243")
            try database.execute(sql: "PRAGMA user_version = 99")
        }
        try queue.close()
        let error = #expect(throws: CacheError.self) {
            try CloudCache(path: fixture.cachePath, remotes: [RealService().remote()])
        }
        #expect(error?.code == .newerFormat)
        let sentence = error?.description ?? ""
        #expect(sentence.contains(fixture.cachePath))
        #expect(sentence.contains("format 99"))
        #expect(sentence.contains("Update the app"))
    }
}
