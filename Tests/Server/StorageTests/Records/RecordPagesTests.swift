import StratusRecords
import StratusTesting
import Testing

@testable import StratusStorage

/// Reading all records of a zone, as the checks of a data folder do while the service runs.
@Suite struct RecordPagesTests {
    private static let recordBytes = 1_000_000

    /// One request may save many large records: a page need not have all of them.
    @Test func pageOfLargeRecordsHasLimitedSize() async throws {
        let storage = SQLiteStorageEngine.inMemory(world: .seeded(1))
        let store = try await storage.store(for: MarkedFolder.alice)
        try await store.writeRecords { writer in
            let zone = try writer.createZone(
                named: MarkedFolder.zone, hasFeed: true, encryptionScope: .perRecord)
            let versions = try writer.takeVersions(20, in: zone.key)
            for version in versions {
                let payload = [UInt8](repeating: 7, count: Self.recordBytes)
                var row = MarkedFolder.row("r\(version)", zone.key, version, payload)
                row.commitVersion = versions.upperBound
                try writer.put(row)
            }
        }
        let pages = try await store.read(.zone) { reader in
            let zone = try #require(try reader.zone(named: MarkedFolder.zone))
            var pages: [[String]] = []
            try reader.recordPages(in: zone.key) { rows in
                pages.append(rows.map(\.name))
                return true
            }
            return pages
        }
        #expect(pages.map(\.count) == [8, 8, 4])
        #expect(pages.flatMap { $0 } == (1...20).map { "r\($0)" })
    }
}
