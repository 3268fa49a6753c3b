import FaultFiles
import Foundation
import StratusRecords
import Testing

@testable import StratusStorage

/// The cost of opening a database, as counts: a request whose database is not open pays it.
@Suite struct OpeningCostTests {
    /// Opens a database of ten records for a request.
    private func costs(
        of request: (any RecordStore) async throws -> Void
    ) async throws -> (statements: Int, reads: Int, writes: Int, syncs: Int) {
        try await withTemporaryFolder { path in
            try await MarkedFolder(path).withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                _ = try await MarkedFolder.save((0..<10).map { "r\($0)" }, to: store)
            }
            let folder = FaultFolder(path)
            let storage = try SQLiteStorageEngine(folder: path)
            // The directory is open already.
            let kinds = [fault_read, fault_write, fault_sync]
            let before = kinds.map { folder.count([$0]) } + [folder.statements]
            try await request(try await storage.store(for: MarkedFolder.alice))
            let after = kinds.map { folder.count([$0]) } + [folder.statements]
            try await storage.close()
            let costs = zip(after, before).map { $0 - $1 }
            return (costs[3], costs[0], costs[1], costs[2])
        }
    }

    /// The cost of the writing connection; the request itself does nothing.
    @Test func openingTakesFewStatementsAndWritesNothing() async throws {
        let opening = try await costs { _ in }
        #expect(opening.statements <= 9, "\(opening)")
        #expect(opening.reads <= 24 && opening.writes == 0 && opening.syncs == 0, "\(opening)")
    }

    /// The read's beginning, its one statement and its end, and the pages of its rows. Another connection would read
    /// the schema again.
    @Test func firstReadOpensNoConnection() async throws {
        let opening = try await costs { _ in }
        let reading = try await costs { store in _ = try await store.read { try $0.zones().count } }
        #expect(reading.statements - opening.statements <= 3, "\(reading) \(opening)")
        #expect(reading.reads - opening.reads <= 6, "\(reading) \(opening)")
        #expect(reading.writes == 0 && reading.syncs == 0, "\(reading)")
    }
}
