import Foundation
import GRDB
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

@Suite struct CacheStoreTests {
    @Test func everyCommitReachesTheDisk() throws {
        let device = try Device(MemoryCloud())
        let mode = try device.cache.store.pool.write { database in
            try Int.fetchOne(database, sql: "PRAGMA synchronous")
        }
        #expect(mode == 2, "2 is FULL")
        let journal = try device.cache.store.pool.read { database in
            try String.fetchOne(database, sql: "PRAGMA journal_mode")
        }
        #expect(journal == "wal")
    }

    @Test func newerSchemaVersionIsRefused() throws {
        let device = try Device(MemoryCloud())
        try device.cache.store.pool.write { try $0.execute(sql: "PRAGMA user_version = 99") }
        let error = #expect(throws: CacheError.self) { try device.restart() }
        #expect(error?.code == .newerFormat)
    }

    @Test func versionOneFileIsMigratedWithItsQueue() async throws {
        let cloud = MemoryCloud()
        let device = try Device(cloud)
        try device.save("a", "1")
        try await device.cache.sync()
        try device.save("b", "1")
        try device.delete("a")
        // As version 1 had it.
        try await device.cache.store.pool.write { database in
            try database.execute(
                sql: """
                    DROP TABLE tombstone;
                    ALTER TABLE pending DROP COLUMN isMadeAnew;
                    ALTER TABLE pending DROP COLUMN isUncertain;
                    DELETE FROM flag WHERE name = 'userRecordName';
                    PRAGMA user_version = 1;
                    """)
        }
        try device.restart()
        let version = try await device.cache.store.pool.read { database in
            try Int.fetchOne(database, sql: "PRAGMA user_version")
        }
        #expect(version == 2)
        try device.save("c", "1")
        try device.delete("c")
        try await device.cache.sync()
        #expect(cloud.names() == ["b"])
    }

    @Test func fileThatIsNotSQLiteIsDamaged() throws {
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        try Data(repeating: 0x55, count: 8_192).write(to: URL(fileURLWithPath: path))
        defer {
            // Nobody minds a file in the temporary folder.
            try? FileManager.default.removeItem(atPath: path)
        }
        let error = #expect(throws: CacheError.self) {
            try RecordCache(path: path, remote: CloudLink(MemoryCloud()))
        }
        #expect(error?.code == .damaged)
    }

    @Test func missingFolderIsUnwritableError() {
        let error = #expect(throws: CacheError.self) {
            try RecordCache(path: "/nowhere/at/all/cache.sqlite", remote: CloudLink(MemoryCloud()))
        }
        #expect(error?.code == .unwritable)
    }

    @Test func fieldValuesRoundTripThroughFieldWriter() throws {
        let place = Location(
            latitude: -12.5, longitude: 99, horizontalAccuracy: 1, altitude: -3,
            timestampMilliseconds: -5)
        let reference = Reference(
            recordName: "other", zoneID: ZoneID(name: "Z", ownerName: "_me"), action: .deleteSelf)
        let receipt = AssetReceipt(fileChecksum: "x", sizeBytes: 5)
        let values: [FieldValue] = [
            .string("äöü 🛒"), .int64(.min), .double(-0.0), .timestamp(milliseconds: -1),
            .bytes([0, 255]), .location(place), .reference(reference), .asset(receipt),
            .stringList(["", "b"]), .int64List([1, -1]), .doubleList([.infinity]),
            .timestampList(milliseconds: [0]), .bytesList([[], [1]]), .locationList([place]),
            .referenceList([reference, Reference(recordName: "q")]), .assetList([receipt]),
            .emptyList,
        ]
        let fields = values.enumerated().map { index, value in
            Field(name: "f\(index + 10)", value: value, isEncrypted: index % 2 == 1)
        }
        let bytes = FieldWriter.encode(fields)
        #expect(try bytes.withUnsafeBytes { try FieldReader.fields($0) } == fields)
        // Cut anywhere, it is an error and never a crash.
        for length in 0..<bytes.count {
            let part = Array(bytes.prefix(length))
            let read = try? part.withUnsafeBytes { try FieldReader.fields($0) }
            #expect(read == nil || fields.starts(with: read ?? []))
        }
    }

    @Test func systemFieldsRoundTripThroughFieldWriter() throws {
        let full = RecordSnapshot.SystemFields(
            changeTag: "t", createdMilliseconds: 1, creatorRecordName: "_a",
            modifiedMilliseconds: 2, modifierRecordName: "_b", shareRecordName: "s")
        var share = full
        share.sharing = [1, 2, 3]
        for system in [full, share, RecordSnapshot.SystemFields(changeTag: "")] {
            let bytes = FieldWriter.encode(system)
            #expect(try bytes.withUnsafeBytes { try FieldReader.system($0) } == system)
        }
    }

    @Test func truncatedSystemFieldsThrowOrLoseShare() throws {
        var system = RecordSnapshot.SystemFields(
            changeTag: "t", createdMilliseconds: 1, creatorRecordName: "_a")
        let withoutPeople = FieldWriter.encode(system)
        system.sharing = [1, 2, 3]
        let bytes = FieldWriter.encode(system)
        for length in 0..<bytes.count {
            let part = Array(bytes.prefix(length))
            let read = try? part.withUnsafeBytes { try FieldReader.system($0) }
            #expect((read != nil) == (length == withoutPeople.count))
            #expect(read?.sharing == nil)
        }
    }

    @Test func rowAndPendingChangeAreOneTransaction() throws {
        let device = try Device(MemoryCloud())
        // The second edit cannot be written: the first must not be there either.
        try device.cache.store.pool.write { database in
            try database.execute(
                sql: """
                    CREATE TRIGGER refuse BEFORE INSERT ON pending WHEN NEW.name = 'b'
                    BEGIN SELECT RAISE(ABORT, 'no'); END
                    """)
        }
        #expect(throws: (any Error).self) {
            try device.cache.save(
                ["a", "b"].map {
                    LocalEdit(
                        id: RecordID(name: $0, zoneID: .list), type: "Item",
                        changes: [Field(name: "text", value: .string("x"))])
                })
        }
        #expect(try device.texts().isEmpty)
        #expect(try device.cache.store.pendingIDs(limit: 100).isEmpty)
    }

    @Test func pendingChangesAreOnePerRecordAndSurviveRestart() throws {
        let device = try Device(MemoryCloud())
        try device.save("a", "1")
        try device.save("b", "1")
        try device.save("a", "2")
        try device.delete("b")
        try device.restart()
        #expect(try device.cache.store.pendingIDs(limit: 100).map(\.name) == ["a", "b"])
        try device.cache.store.zonesModified(created: [.list], deleted: [])
        let changes = try device.cache.store.nextBatch(itemLimit: 10, bytesLimit: 1_000_000)
        #expect(changes.map(\.change.kind) == [.save, .delete])
        #expect(changes.map(\.change.generation) == [2, 2])
    }

    @Test func batchKeepsItemAndByteLimits() throws {
        let device = try Device(MemoryCloud())
        for number in 0..<10 { try device.save("r\(number)", String(repeating: "x", count: 1_000)) }
        try device.cache.store.zonesModified(created: [.list], deleted: [])
        let store = device.cache.store
        #expect(try store.nextBatch(itemLimit: 4, bytesLimit: 1_000_000).count == 4)
        #expect(try store.nextBatch(itemLimit: 400, bytesLimit: 3_600).count == 3)
        #expect(try store.nextBatch(itemLimit: 400, bytesLimit: 1).count == 1)
    }

    @Test func savingSameValueMakesNoChange() throws {
        let device = try Device(MemoryCloud())
        try device.save("a", "1")
        let before = try device.cache.snapshot(RecordID(name: "a", zoneID: .list))
        device.time.advance(milliseconds: 50)
        try device.save("a", "1")
        #expect(try device.cache.snapshot(RecordID(name: "a", zoneID: .list)) == before)
    }

    @Test func secondEditInSameMillisecondGetsLaterDate() throws {
        let device = try Device(MemoryCloud())
        func edited() throws -> FieldValue? {
            try device.cache.snapshot(RecordID(name: "a", zoneID: .list))?["editedAt"]
        }
        try device.save("a", "1")
        #expect(try edited() == .timestamp(milliseconds: 1_000_000))
        try device.save("a", "2")
        #expect(try edited() == .timestamp(milliseconds: 1_000_001))
    }
}
