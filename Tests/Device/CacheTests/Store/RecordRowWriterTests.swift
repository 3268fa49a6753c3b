import Foundation
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// The single place that writes the rows of records.
@Suite struct RecordRowWriterTests {
    private static let sources = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Sources/Device/Cache")

    /// Only migrations write elsewhere: they run before anything is derived.
    @Test func onlyOneFileWritesRecordRows() throws {
        let files = try #require(
            FileManager.default.enumerator(at: Self.sources, includingPropertiesForKeys: nil))
        let write = /(?:INTO|UPDATE|DELETE\s+FROM|REPLACE\s+INTO)\s+record\b/
        var writers: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            if text.contains(write) { writers.insert(file.lastPathComponent) }
        }
        #expect(writers == ["CacheStore+RecordRows.swift"])
    }

    /// Also when a zone is deleted, whose rows SQLite would delete by itself.
    @Test func zoneDeletionReportsItsRecordRows() throws {
        let device = try Device(RealService())
        for name in ["a", "b", "c"] { try device.save(name, "text of \(name)") }
        let outcome = try device.cache.store.deleteZone(.list)
        #expect(Set(outcome.rows.keys.map(\.name)) == ["a", "b", "c"])
        for case .put in outcome.rows.values { Issue.record("A deleted record was put.") }
    }

    @Test func transactionReportsOnlyItsOwnRows() throws {
        let device = try Device(RealService())
        try device.save("a", "one")
        let edit = LocalEdit(
            id: RecordID(name: "b", zoneID: .list), type: "Item",
            changes: [Field(name: "text", value: .string("two"))])
        let (outcome, _) = try device.cache.store.commit(edits: [edit], deletions: [])
        #expect(outcome.rows.count == 1)
        guard case .put(let record) = outcome.rows[edit.id] else {
            Issue.record("The row was not reported.")
            return
        }
        #expect(record["text"] == .string("two"))
    }
}
