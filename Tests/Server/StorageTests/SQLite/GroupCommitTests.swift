import Dispatch
import GRDB
import StratusRecords
import StratusSQLite
import Synchronization
import Testing

@testable import StratusStorage

@Suite struct GroupCommitTests {
    private static let format = StoredFormat(
        applicationID: 1, migrations: [.init("t", sql: "CREATE TABLE t (x)")])

    private struct Refusal: Error, Equatable {
        var number: Int
    }

    @Test func waitingWritesShareACommitAndKeepTheirOwnOutcomes() async throws {
        try await withTemporaryFolder { folder in
            var limits = StorageLimits()
            limits.writesPerCommit = 8
            let file = try SQLiteFile(path: folder, format: Self.format, limits: limits)
            let commits = CommitCounter()
            try await file.write { $0.add(transactionObserver: commits) }
            commits.reset()

            // The first write holds the writer until all others wait.
            let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
            let queued = DispatchSemaphore(value: 0)
            let thread = SerialThread()
            var writes = [
                Task(executorPreference: thread) {
                    try await file.write { database -> Int in
                        beginning.finish()
                        _ = queued.wait(timeout: .now() + .seconds(20))
                        return try insert(0, database)
                    }
                }
            ]
            for await _ in begun {}
            for number in 1...20 {
                writes.append(
                    Task(executorPreference: thread) {
                        try await file.write { try insert(number, $0) }
                    })
            }
            thread.finishWhatWasQueued()
            queued.signal()

            for (number, write) in writes.enumerated() {
                if number % 5 == 4 {
                    await #expect(throws: Refusal(number: number)) { try await write.value }
                } else {
                    #expect(try await write.value == number)
                }
            }
            // The first write alone, then 8, 8 and 4.
            #expect(commits.count == 4)
            let kept = try await file.read { try Int.fetchAll($0, sql: "SELECT x FROM t") }
            #expect(kept == (0...20).filter { $0 % 5 != 4 })
            try file.close()
        }
    }

    @Test func writeFailsWhenSQLiteRollsBackAndTheNextSucceeds() async throws {
        try await withTemporaryFolder { folder in
            let file = try SQLiteFile(path: folder, format: Self.format)
            await #expect(throws: StorageError.self) {
                try await file.write { database in
                    try database.execute(sql: "INSERT INTO t VALUES (1)")
                    // Rolls back the transaction from inside, as SQLite does when the disk is full.
                    try database.execute(sql: "ROLLBACK")
                }
            }
            #expect(try await file.write { try insert(2, $0) } == 2)
            let kept = try await file.read { try Int.fetchAll($0, sql: "SELECT x FROM t") }
            #expect(kept == [2])
            try file.close()
        }
    }

    @Test func readsBeyondConnectionLimitWait() async throws {
        try await withTemporaryFolder { folder in
            let file = try SQLiteFile(path: folder, format: Self.format)
            let counts = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 {
                    group.addTask {
                        try await file.read { database in
                            try Int.fetchOne(database, sql: "SELECT count(*) FROM t") ?? -1
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(counts == [Int](repeating: 0, count: 50))
            try file.close()
            await #expect(throws: StorageError.self) { try await file.read { _ in } }
        }
    }

    private func insert(_ number: Int, _ database: Database) throws -> Int {
        try database.execute(sql: "INSERT INTO t VALUES (?)", arguments: [number])
        if number % 5 == 4 { throw Refusal(number: number) }
        return number
    }
}

/// Counts the commits of a connection.
private final class CommitCounter: TransactionObserver, Sendable {
    private let commits = Mutex(0)

    var count: Int { commits.withLock { $0 } }
    func reset() { commits.withLock { $0 = 0 } }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ database: Database) { commits.withLock { $0 += 1 } }
    func databaseDidRollback(_ database: Database) {}
}

/// One thread on which tasks take turns in the order in which they were created.
private final class SerialThread: TaskExecutor {
    private let queue = DispatchQueue(label: "stratus.tests")

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    func finishWhatWasQueued() {
        queue.sync {}
    }
}
