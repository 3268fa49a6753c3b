import Foundation
import Testing

/// Only `RecordWriter` writes records, and only one file does so in SQL.
@Suite struct RecordWriterSourceTests {
    /// All sources except those that define the transaction and those that test a store below the service.
    private static func sourcesAboveStorage() throws -> [String: String] {
        let sources = try SourceCode.files().filter { path, _ in
            // StoreConformance writes rows of its own because it checks what a store does with them.
            !path.hasPrefix("Server/Storage/") && !path.hasPrefix("Testing/StoreConformance/")
        }
        #expect(sources.count > 500)
        return sources
    }

    /// The files whose code matches one of some expressions.
    private static func files(
        matching expressions: [String], _ code: [String: String]
    ) throws -> [String] {
        let regexes = try expressions.map { try Regex($0) }
        return code.filter { _, text in regexes.contains { text.firstMatch(of: $0) != nil } }
            .keys.sorted()
    }

    /// Neither a `StoreWriter` nor the maintainers' `DerivedRowWriter` can write a record, so it is enough to check
    /// which files get a `RecordTransaction`.
    @Test func onlyTheWriterHasATransactionThatWritesRecords() throws {
        let sources = try Self.sourcesAboveStorage()
        #expect(
            try Self.files(matching: [#"\bRecordTransaction\b"#], sources) == [
                // Passes it to the writer of a repair.
                "Server/Service/Upkeep/Doctor+Repair.swift",
                "Server/Service/Writer/RecordWriter.swift",
            ])
        #expect(
            try Self.files(matching: [#"\bRecordWriter\("#], sources) == [
                "Server/Service/Writer/RecordWriter.swift"
            ])
        #expect(
            try Self.files(matching: [#"\.writeRecords\b"#], sources) == [
                "Server/Service/Writer/RecordWriter.swift"
            ])
        #expect(
            try Self.files(
                matching: [#"\.takeVersions\("#, #"\.purgeTombstones\(through"#], sources) == [
                    "Server/Service/Writer/RecordWriter.swift"
                ])
        // Outside the server, methods of other types have this name.
        #expect(
            try Self.files(
                matching: [#"\.deleteZone\("#], sources.filter { $0.key.hasPrefix("Server/") })
                == ["Server/Service/Writer/RecordWriter.swift"])
    }

    @Test func onlyMaintainersWriteDerivedRows() throws {
        let sources = try Self.sourcesAboveStorage().filter {
            !$0.key.hasPrefix("Server/Service/Writer/")
        }
        #expect(
            try Self.files(matching: [#"\bDerivedRowWriter\b"#, #"RecordIndexing\(\)"#], sources)
                == [])
    }

    @Test func onlyOneFileHasStatementsThatWriteRecordRows() throws {
        let statements = [
            #"INSERT( OR \w+)? INTO record\b(?!_)"#, #"UPDATE( OR \w+)? record\b(?!_)"#,
            #"DELETE FROM record\b(?!_)"#, #"REPLACE INTO record\b(?!_)"#,
        ]
        #expect(
            try Self.files(matching: statements, SourceCode.files()) == [
                // The cache's own file on a device has a table of the same name.
                "Device/Cache/Store/CacheStore+RecordRows.swift",
                "Server/Storage/Records/SQLiteTransaction+Records.swift",
                // Breaks a cache on purpose.
                "Simulation/Worlds/Faults/Mutation.swift",
            ])
        let listOfTables = #"\[[^\]]*"record"[^\]]*\]"#
        #expect(try Self.files(matching: [listOfTables], SourceCode.files(in: "Server")) == [])
    }

    /// A maintainer that is not in the list would never be called.
    @Test func everyMaintainerIsInTheList() throws {
        let writer = try SourceCode.files(in: "Server").filter {
            $0.key.hasPrefix("Service/Writer/")
        }
        let list = try #require(writer["Service/Writer/RecordMaintainer.swift"])
        let names = writer.values.flatMap { text in
            text.matches(of: /struct (\w+): RecordMaintainer \{/).map { String($0.1) }
        }
        #expect(names.count == 7)
        for name in names { #expect(list.contains("\(name)("), "\(name)") }
    }

    /// A derived table that a repair does not remove or count again would keep its wrong rows.
    @Test func everyTableOfRecordsIsRebuiltOrKept() throws {
        // The table short_guid is the directory's, and is defined beside that of shares.
        let kept: Set = [
            "applied_operation", "epoch", "history", "index_definition", "index_origin",
            "long_change", "outbox", "record", "share_event", "shared_zone", "short_guid",
            "subscription", "zone",
        ]
        let storage = try SourceCode.files(in: "Server").filter {
            $0.key.hasPrefix("Storage/") && $0.key.contains("/RecordFile")
        }
        let tables = Set(
            storage.values.flatMap { text in
                text.matches(of: /CREATE TABLE (\w+) \(/).map { String($0.1) }
            })
        let repair = try #require(
            SourceCode.files(in: "Server")["Storage/Engine/SQLiteStorageEngine+Rebuilding.swift"])
        let rebuilt = Set(
            repair.matches(of: /(DELETE FROM|UPDATE) (\w+)/).map { String($0.2) })
        #expect(tables.count > 15)
        #expect(rebuilt.isDisjoint(with: kept))
        #expect(tables.subtracting(rebuilt) == kept)
    }
}
