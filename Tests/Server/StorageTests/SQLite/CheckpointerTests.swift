import FaultFiles
import Foundation
import GRDB
import InMemoryLogging
import Logging
import StratusSQLite
import Synchronization
import Testing

@testable import StratusStorage

@Suite struct CheckpointerTests {
    /// A checkpoint in the background opens its own connection, up to eight times in the life of a log. Saves pay for
    /// each statement that sets it up, and for reading the schema if it does.
    @Test func checkpointBesideWriterMovesLogWithTwoStatements() async throws {
        try await withLongLog { log in
            let size = try size(of: log.file)
            let statements = log.folder.statements

            log.writerIsIdle()
            log.checkpointer.wait()

            #expect(try self.size(of: log.file) >= size + 390_000)
            let added = log.folder.statements - statements
            #expect(added <= 2, "\(added)")
        }
    }

    /// The writer becomes idle after its last write was answered, which may be after the database began to close.
    @Test func writerThatIsIdleAfterCloseStartsNoCheckpoint() async throws {
        try await withLongLog { log in
            let size = try size(of: log.file)
            log.checkpointer.close()
            log.writerIsIdle()
            log.checkpointer.wait()
            #expect(try self.size(of: log.file) == size)
        }
    }

    @Test func scheduledCheckpointDoesNotBeginAfterClose() async throws {
        let scheduled = Mutex<[@Sendable () -> Void]>([])
        let work = WorkThread.world { body in scheduled.withLock { $0.append(body) } }
        try await withLongLog(work) { log in
            let size = try size(of: log.file)
            log.writerIsIdle()
            log.checkpointer.close()
            let checkpoints = scheduled.withLock { $0 }
            #expect(checkpoints.count == 1)
            for checkpoint in checkpoints { checkpoint() }
            #expect(try self.size(of: log.file) == size)
        }
    }

    /// A database whose log is long enough for a checkpoint.
    private struct LongLog {
        let folder: FaultFolder
        let file: String
        let writer: DatabaseQueue
        let checkpointer: Checkpointer

        func writerIsIdle() {
            let readers = ReadingConnections(path: file, limit: 1) { [file] in
                try DatabaseQueue(path: file)
            }
            writer.inDatabase { checkpointer.writerIsIdle($0, readers) }
        }
    }

    private func withLongLog(
        _ work: WorkThread = .disk, _ body: (LongLog) throws -> Void
    ) async throws {
        try await withTemporaryFolder(isMade: true) { path in
            let folder = FaultFolder(path)
            let file = path + "/alice.sqlite"
            let writer = try writer(of: file)
            let checkpointer = Checkpointer(
                path: file, limits: .with { $0.logPagesBeforeCheckpoint = 1 },
                logger: Logger(label: "test"), work: work)
            try writer.inDatabase { writer in
                try checkpointer.observe(writer)
                try writer.execute(sql: "CREATE TABLE filled (bytes BLOB)")
                try writer.checkpoint(.truncate)
                try writer.execute(sql: "INSERT INTO filled VALUES (zeroblob(400000))")
            }
            try body(
                LongLog(folder: folder, file: file, writer: writer, checkpointer: checkpointer))
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
