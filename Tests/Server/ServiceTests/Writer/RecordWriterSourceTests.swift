import Foundation
import Testing

/// Only `RecordWriter` writes records, and only one file does so in SQL.
@Suite struct RecordWriterSourceTests {
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
        let service = try SourceCode.files(in: "Server").filter { !$0.key.hasPrefix("Storage/") }
        #expect(service.count > 200)
        #expect(
            try Self.files(matching: [#"\bRecordTransaction\b"#], service) == [
                // Creates a writer from it.
                "Service/Upkeep/Doctor+Repair.swift", "Service/Writer/RecordWriter.swift",
            ])
        #expect(
            try Self.files(matching: [#"\.writeRecords\b"#], service) == [
                "Service/Writer/RecordWriting.swift"
            ])
        #expect(
            try Self.files(
                matching: [
                    #"\.takeVersions\("#, #"\.deleteZone\("#, #"\.purgeTombstones\(through"#,
                ],
                service) == ["Service/Writer/RecordWriter.swift"])
    }

    @Test func onlyMaintainersWriteDerivedRows() throws {
        let service = try SourceCode.files(in: "Server").filter {
            !$0.key.hasPrefix("Storage/") && !$0.key.hasPrefix("Service/Writer/")
        }
        #expect(
            try Self.files(matching: [#"\bDerivedRowWriter\b"#, #"RecordIndexing\(\)"#], service)
                == [])
    }

    @Test func onlyOneFileHasStatementsThatWriteRecordRows() throws {
        let statements = [
            #"INSERT( OR \w+)? INTO record\b(?!_)"#, #"UPDATE( OR \w+)? record\b(?!_)"#,
            #"DELETE FROM record\b(?!_)"#, #"REPLACE INTO record\b(?!_)"#,
            // A list of tables to write to.
            #"\[[^\]]*"record"[^\]]*\]"#,
        ]
        #expect(
            try Self.files(matching: statements, SourceCode.files(in: "Server")) == [
                "Storage/Records/SQLiteTransaction+Records.swift"
            ])
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
}
