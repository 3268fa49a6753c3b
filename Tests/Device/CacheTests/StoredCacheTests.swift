import Foundation
import GRDB
import StratusRecords
import StratusSync
import TestSeeds
import Testing

@testable import StratusCache

/// A cache file that an earlier build left, with every kind of row: it opens and reads back.
@Suite struct StoredCacheTests {
    private let fixture: StoredFormatFixture

    init() throws {
        fixture = try StoredFormatFixture()
    }

    private func open(_ cloud: MemoryCloud = MemoryCloud()) throws -> CloudCache {
        try CloudCache(path: fixture.cachePath, remotes: [CloudLink(cloud)])
    }

    private func id(_ name: String, _ zone: String = "Notes") -> RecordID {
        RecordID(name: name, zoneID: ZoneID(name: zone))
    }

    /// A new table comes with a fixture that has a row of it.
    @Test func everyTableHasARow() throws {
        let cache = try open()
        let empty = try cache.store.pool.read { database in
            try String.fetchAll(
                database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'"
            ).filter { table in
                try Int.fetchOne(database, sql: "SELECT count(*) FROM \"\(table)\"") == 0
            }
        }
        #expect(empty == ["change", "report"], "Add rows to Tests/Fixtures/Formats.")
        try cache.close()
    }

    @Test func everyTypeOfValueReadsBack() throws {
        let cache = try open()
        let new = try #require(try cache.snapshot(id("new")))
        #expect(new.parentRecordName == "every type" && new.system == nil)
        let values = new.fields.filter { $0.name != "editedAt" }
        #expect(values.sorted { $0.name < $1.name } == Self.fields)
        // The same from the service, but for what was edited here.
        let fetched = try #require(try cache.snapshot(id("every type")))
        #expect(fetched["text"] == .string("edited twice offline"))
        let others = fetched.fields.filter { !["editedAt", "text"].contains($0.name) }
        #expect(others == Self.fields.filter { $0.name != "text" })
        try cache.close()
    }

    @Test func systemFieldsAndSharesReadBack() throws {
        let cache = try open()
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
        try cache.close()
    }

    /// The queue: what waits, what was set aside, and the base of an edit.
    @Test func pendingChangesReadBack() throws {
        let cache = try open()
        let pending = try cache.pendingRecordIDs().map(\.recordName)
        let waiting = [
            "conflict", "lost answer", "every type", "new", "deleted offline", "made anew", "first",
        ]
        #expect(pending.filter { waiting.contains($0) } == waiting)
        let attention = try cache.attentionItems()
        #expect(attention.map(\.recordID.recordName) == ["waiting", "refused"])
        #expect(
            attention.map(\.failure.message) == ["No such zone for you.", "The title is too long."])
        let queue = try cache.store.nextBatch(itemLimit: 400, bytesLimit: 1_000_000)
        let edited = queue.first { $0.change.id.name == "every type" }
        #expect(edited?.base?["text"] == .string("Größe 😀\n\0"))
        #expect(edited?.client?["text"] == .string("edited twice offline"))
        #expect(queue.first { $0.change.id.name == "deleted offline" }?.change.kind == .delete)
        #expect(try cache.snapshot(id("deleted offline")) == nil)
        #expect(try cache.store.databaseToken() == "database-2")
        try cache.close()
    }

    @Test func newerFormatIsRefused() throws {
        let queue = try DatabaseQueue(path: fixture.cachePath)
        try queue.inDatabase { database in
            // "StrC": since format 3 a cache is marked.
            try database.execute(sql: "PRAGMA application_id = 0x53747243")
            try database.execute(sql: "PRAGMA user_version = 99")
        }
        try queue.close()
        let error = #expect(throws: CacheError.self) { try open() }
        #expect(error?.code == .newerFormat)
        let sentence = error?.description ?? ""
        #expect(sentence.contains(fixture.cachePath))
        #expect(sentence.contains("format 99"))
        #expect(sentence.contains("Update the app"))
    }

    /// What Making/MakeCache.swift gave a record, by name.
    private static let fields: [Field] = {
        let location = Location(
            latitude: 46.5775, longitude: 7.9853, horizontalAccuracy: 5, verticalAccuracy: 8,
            altitude: 3_970, speed: 0, course: 90, timestampMilliseconds: 1_789_999_000_000)
        let place = Location(latitude: -33.5, longitude: 151.25)
        let reference = Reference(
            recordName: "beach", zoneID: ZoneID(name: "Photos"), action: .none)
        let asset = AssetReceipt(
            fileChecksum: "AAAAAAAAAAAAAAAAAAAAAAAAAAAA", sizeBytes: 5,
            referenceChecksum: "BBBBBBBBBBBBBBBBBBBBBBBBBBBB",
            wrappingKey: "CCCCCCCCCCCCCCCCCCCCCA==", receipt: "receipt",
            downloadURL: "http://127.0.0.1:1/asset/${f}")
        return [
            Field(name: "asset", value: .asset(asset)),
            Field(name: "assets", value: .assetList([asset, AssetReceipt(sizeBytes: 0)])),
            Field(name: "blob", value: .bytes([0, 1, 127, 128, 255])),
            Field(name: "blobs", value: .bytesList([[], [42]])),
            Field(name: "count", value: .int64(.min)),
            Field(name: "counts", value: .int64List([0, -1, .max])),
            Field(name: "date", value: .timestamp(milliseconds: -1)),
            Field(name: "dates", value: .timestampList(milliseconds: [0, 1_789_999_000_123])),
            Field(name: "nothing", value: .emptyList),
            Field(name: "owner", value: .reference(reference)),
            Field(
                name: "owners",
                value: .referenceList([
                    reference, Reference(recordName: "other", action: .deleteSelf),
                ])),
            Field(name: "place", value: .location(location)),
            Field(name: "places", value: .locationList([location, place])),
            Field(name: "ratio", value: .double(-0.1)),
            Field(name: "ratios", value: .doubleList([0, 1e300, .leastNonzeroMagnitude])),
            Field(name: "secret", value: .bytes([9, 8, 7]), isEncrypted: true),
            Field(name: "text", value: .string("Größe 😀\n\0")),
            Field(name: "texts", value: .stringList(["", "a\"b\\c"])),
        ]
    }()
}
