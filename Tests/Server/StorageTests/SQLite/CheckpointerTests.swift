import FaultFiles
import Foundation
import GRDB
import InMemoryLogging
import Logging
import StratusSQLite
import Testing

@testable import StratusStorage

@Suite struct CheckpointerTests {
    /// A checkpoint in the background opens its own connection, up to eight times in the life of a log. Saves pay for
    /// each statement that sets it up, and for reading the schema if it does.
    @Test func checkpointBesideWriterMovesLogWithTwoStatements() async throws {
        try await withTemporaryFolder(isMade: true) { path in
            let folder = FaultFolder(path)
            let file = path + "/alice.sqlite"
            let writer = try writer(of: file)
            let checkpointer = Checkpointer(
                path: file, limits: .with { $0.logPagesBeforeCheckpoint = 1 },
                logger: Logger(label: "test"))
            try writer.inDatabase { writer in
                try checkpointer.observe(writer)
                try writer.execute(sql: "CREATE TABLE filled (bytes BLOB)")
                try writer.checkpoint(.truncate)
                try writer.execute(sql: "INSERT INTO filled VALUES (zeroblob(400000))")
            }
            let size = try size(of: file)
            let statements = folder.statements

            let readers = ReadingConnections(path: file, limit: 1) { try DatabaseQueue(path: file) }
            writer.inDatabase { checkpointer.writerIsIdle($0, readers) }
            checkpointer.wait()

            #expect(try self.size(of: file) >= size + 390_000)
            #expect(folder.statements - statements <= 2, "\(folder.statements - statements)")
            try writer.close()
        }
    }

    /// Commits succeed while the log grows, so the log of the service has to say that it does.
    @Test func failedCheckpointOfWriterIsLoggedOnce() async throws {
        try await withTemporaryFolder(isMade: true) { path in
            let file = path + "/alice.sqlite"
            let writer = try writer(of: file)
            let handler = InMemoryLogHandler()
            let checkpointer = Checkpointer(
                path: file, limits: .with { $0.logPagesBeforeForcedCheckpoint = 0 },
                logger: Logger(label: "test") { _ in handler })
            try writer.inDatabase { writer in
                checkpointer.writerContinues(writer)
                #expect(handler.entries.isEmpty)
                // SQLite refuses a checkpoint within a transaction.
                try writer.execute(sql: "BEGIN IMMEDIATE")
                checkpointer.writerContinues(writer)
                checkpointer.writerContinues(writer)
                #expect(handler.entries.map(\.level) == [.error])
                try writer.execute(sql: "COMMIT")
            }
            try writer.close()
        }
    }

    /// The connection of a new database that writes.
    private func writer(of file: String) throws -> DatabaseQueue {
        let format = RecordFile.format(world: .live)
        return try format.openSingleConnection(
            at: file, configuration: format.configuration(Configuration(), forFileAt: file),
            newPageBytes: PageGrowth.grownPageBytes
        ).0
    }

    private func size(of file: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        return try #require(attributes[.size] as? Int)
    }
}
