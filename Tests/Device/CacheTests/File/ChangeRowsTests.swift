import Foundation
import StratusClient
import StratusRecords
import StratusTesting
import Testing

@testable import StratusCache

/// What a process learns of the other ones' changes from the rows that they write.
@Suite struct ChangeRowsTests {
    /// The scopes that were reported as changed in full to a process with a new file, after another process wrote this
    /// many rows of 9,000 records each.
    private func scopesReported(rowCount: Int) throws -> [CKDatabase.Scope] {
        let path = NSTemporaryDirectory() + "changes-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
        let reader = try CacheFile(path: path, world: .live)
        let writer = try CacheFile(path: path, world: .live)
        let zone = ZoneID(name: "List")
        for row in 0..<rowCount {
            let ids = (0..<9_000).map { RecordID(name: "\(row)-\($0)", zoneID: zone) }
            try writer.write { try writer.noteChange(of: Set(ids), in: .private, $0) }
        }
        let changes = try reader.takeForeignChanges() ?? []
        writer.close()
        reader.close()
        return changes.filter { $0.ids.count != 9_000 }.map(\.scope)
    }

    @Test func firstChangesOfANewFileAreReported() throws {
        #expect(try scopesReported(rowCount: 2) == [])
    }

    /// A process that missed rows is notified that everything changed, even if it has seen no rows before.
    @Test func everythingIsReportedAfterRowsOfANewFileWereDropped() throws {
        #expect(try scopesReported(rowCount: 4) == [.private, .shared])
    }

    /// The reader's own rows follow the one that was dropped.
    @Test func droppedRowOfAnotherProcessIsNotHiddenByOwnRows() throws {
        let path = NSTemporaryDirectory() + "changes-\(UUID().uuidString).sqlite"
        defer { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
        let reader = try CacheFile(path: path, world: .live)
        let writer = try CacheFile(path: path, world: .live)
        let zone = ZoneID(name: "List")
        for (file, count) in [(writer, 1), (reader, 9_000), (reader, 9_000), (reader, 9_000)] {
            let ids = (0..<count).map { RecordID(name: "\($0)", zoneID: zone) }
            try file.write { try file.noteChange(of: Set(ids), in: .private, $0) }
        }
        #expect(try reader.takeForeignChanges()?.map(\.scope) == [.private, .shared])
        writer.close()
        reader.close()
    }
}
