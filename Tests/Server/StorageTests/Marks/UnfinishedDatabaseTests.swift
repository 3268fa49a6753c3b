import FaultFiles
import Foundation
import GRDB
import StratusRecords
import Testing

@testable import StratusStorage

/// A process that ends while it creates a data folder and a database leaves nothing that is refused later.
@Suite struct UnfinishedDatabaseTests {
    enum End: CaseIterable, Sendable {
        case killed, powerCut
    }

    /// Interrupts before every seventh write or synchronisation, until none is left; a transaction has more of
    /// them.
    @Test(.timeLimit(.minutes(20)), arguments: End.allCases)
    func newDatabaseInterruptedBeforeAnyWriteOpens(_ end: End) async throws {
        var writes = 0
        while try await Self.isServedAfter(end, before: writes) { writes += 7 }
        // The directory and a database with their tables, and a save. Fewer steps would mean that none was interrupted.
        #expect(writes > 20)
    }

    /// A process was killed while it rewrote a file with larger pages, so a journal is left that must be rolled back.
    @Test func fileWithAJournalIsCopied() async throws {
        try await withTemporaryFolder(isMade: true) { (folder) throws in
            let (written, file) = (folder + "/written.sqlite", folder + "/file.sqlite")
            let writer = try DatabaseQueue(path: written)
            try writer.inDatabase { database in
                try database.execute(
                    sql: """
                        CREATE TABLE t (x);
                        INSERT INTO t VALUES (1);
                        PRAGMA cache_size = 1;
                        BEGIN;
                        UPDATE t SET x = 2;
                        """)
                // More than the cache holds: some of it is written to the file before the commit.
                for _ in 0..<50 {
                    try database.execute(sql: "INSERT INTO t VALUES (zeroblob(4000))")
                }
                for ending in ["", "-journal"] {
                    try FileManager.default.copyItem(
                        atPath: written + ending, toPath: file + ending)
                }
                try database.execute(sql: "ROLLBACK")
            }
            try writer.close()
            try SQLiteCopy.copy(file, to: folder + "/copy.sqlite")
            let copy = try DatabaseQueue(path: folder + "/copy.sqlite")
            #expect(try copy.inDatabase { try Int.fetchAll($0, sql: "SELECT x FROM t") } == [1])
            try copy.close()
        }
    }

    private final class Copy {
        var isMade = false
        var error: (any Error)?
    }

    /// - Returns: Whether there were more writes and synchronisations than `count`.
    private static func isServedAfter(_ end: End, before count: Int) async throws -> Bool {
        try await withTemporaryFolder { copy in
            let made = try await withTemporaryFolder { path in
                try FileManager.default.createDirectory(
                    atPath: path, withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700])
                let disk = FaultFolder(path)
                let made = Copy()
                disk.interrupt([fault_write, fault_sync], after: count) {
                    made.isMade = true
                    do {
                        switch end {
                        case .killed: try disk.kill(to: copy)
                        case .powerCut: try disk.cut(to: copy, fault_cut_forgets)
                        }
                    } catch {
                        made.error = error
                    }
                }
                try await saveOne(in: path)
                disk.interruptNoMore()
                if let error = made.error { throw error }
                return made.isMade
            }
            if made { try await saveOne(in: copy) }
            return made
        }
    }

    private static func saveOne(in path: String) async throws {
        try await MarkedFolder(path).withStorage { storage in
            let store = try await storage.store(for: MarkedFolder.alice)
            _ = try await MarkedFolder.save(["one"], to: store)
            #expect(try await storage.check().findings == [])
        }
    }
}
