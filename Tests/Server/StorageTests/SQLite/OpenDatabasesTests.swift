import Foundation
import GRDB
import StratusRecords
import StratusRuntime
import StratusTesting
import Synchronization
import Testing

@testable import StratusStorage

private let container = ContainerAddress(
    container: "iCloud.org.example.Trails", environment: .production)

/// The cost of many databases: openings, file descriptors, disk space.
@Suite struct OpenDatabasesTests {
    private func address(_ number: Int) -> DatabaseAddress {
        DatabaseAddress(container, .private(owner: "_\(number)"))
    }

    private func save(_ names: [String], bytes: Int, in store: any RecordStore) async throws {
        try await store.writeRecords { writer in
            let zone = try writer.zone(named: ZoneID.defaultZoneName)
            let key = try #require(zone).key
            for (name, version) in zip(names, try writer.takeVersions(names.count, in: key)) {
                try writer.put(
                    RecordRow(
                        zone: key, name: name, type: "Trail", version: version,
                        commitVersion: version, changeTag: "\(version)", isDeleted: false,
                        creatorDevice: "phone", createdMilliseconds: 1, modifiedMilliseconds: 2,
                        creator: "_alice", modifier: "_alice", modifierDevice: "phone",
                        parent: nil, shareRoot: nil, payload: [UInt8](repeating: 7, count: bytes)))
            }
        }
    }

    /// As long as no more databases are in use than may be open, none is opened twice.
    @Test func databasesWithinLimitAreOpenedOnce() async throws {
        try await withTemporaryFolder { folder in
            var limits = StorageLimits()
            limits.openDatabases = 100
            // So that none is closed for being idle, even on a slow machine.
            limits.idleSeconds = 3_600
            let storage = try SQLiteStorageEngine(folder: folder, limits: limits)
            for round in 0..<5 {
                for number in 0..<100 {
                    let store = try await storage.store(for: address(number))
                    try await save(["r\(round)"], bytes: 10, in: store)
                }
            }
            #expect(storage.openings == 100)
            try await storage.close()
        }
    }

    /// Beyond the limit the least recently used one is closed.
    @Test func leastRecentlyUsedDatabaseIsClosed() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(
                folder: folder, limits: .with { $0.openDatabases = 10 })
            for number in 0..<50 {
                _ = try await storage.store(for: address(1_000))
                _ = try await storage.store(for: address(number))
            }
            #expect(storage.openDatabases == 10)
            #expect(storage.openings == 51)
            try await storage.close()
        }
    }

    /// Surplus databases are closed in the background of the requests that open others.
    @Test(.timeLimit(.minutes(20))) func surplusDatabasesAreClosedInTheBackground() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(
                folder: folder, limits: .with { $0.openDatabases = 32 })
            for number in 0..<100 {
                _ = try await storage.store(for: address(number))
                #expect(storage.openDatabases <= 41)
            }
            while storage.openDatabases > 36 { try await Task.sleep(for: .milliseconds(1)) }
            #expect(storage.openings == 100)
            try await storage.close()
            #expect(storage.openDatabases == 0)
        }
    }

    /// A database that was only written has three descriptors; an idle one has none, and no log.
    @Test func idleDatabaseTakesNoDescriptorsAndNoLog() async throws {
        try await withTemporaryFolder { folder in
            let time = HeldTime()
            let storage = try SQLiteStorageEngine(folder: folder, world: time.world)
            let store = try await storage.store(for: address(1))
            let file = DataFolder.path(of: address(1), in: folder)
            try await save(["r0"], bytes: 300, in: store)
            #expect(try openDescriptors(of: file) == 3)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    group.addTask { try await save(["r\(number % 10)"], bytes: 300, in: store) }
                    group.addTask {
                        _ = try await store.read(.zone) { try $0.zones().count }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try (4...7).contains(openDescriptors(of: file)))
            time.pass(seconds: 31)
            // Waits for the end of the round by polling, since it is not announced.
            for _ in 0..<10_000 where storage.openDatabases > 0 {
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(try openDescriptors(of: file) == 0)
            #expect(size(of: file + "-wal") == 0)
            // The size for a user with ten records.
            #expect(size(of: file) <= 60_000)
            try await save(["after"], bytes: 300, in: store)
            try await storage.close()
        }
    }

    @Test func fileHasLargerPagesOnceItHasGrown() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder)
            let store = try await storage.store(for: address(1))
            try await save((0..<10).map { "a\($0)" }, bytes: 300, in: store)
            #expect(try await pageBytes(storage) == 1_024)
            for number in 0..<20 {
                try await save((0..<10).map { "b\(number) \($0)" }, bytes: 2_000, in: store)
            }
            // The file is rewritten after the save's answer, and before the next write.
            try await save(["c"], bytes: 10, in: store)
            #expect(try await pageBytes(storage) == 4_096)
            try await storage.close()
            let again = try SQLiteStorageEngine(folder: folder)
            #expect(try await again.check().findings == [])
            let count = try await again.withDatabase(of: address(1)) { file in
                try await file.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM record") }
            }
            #expect(count == 211)
            try await again.close()
        }
    }

    private func pageBytes(_ storage: SQLiteStorageEngine) async throws -> Int? {
        try await storage.withDatabase(of: address(1)) { file in
            try await file.write { try Int.fetchOne($0, sql: "PRAGMA page_size") }
        }
    }

    /// After a clean stop the write-ahead log is empty.
    @Test func closingCheckpointsTheLog() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder)
            let store = try await storage.store(for: address(1))
            try await save(["a"], bytes: 300, in: store)
            _ = try await store.read(.zone) { try $0.zones().count }
            try await storage.close()
            let left = try FileManager.default.subpathsOfDirectory(atPath: folder)
                .filter { $0.hasSuffix("-wal") || $0.hasSuffix("-shm") }
            #expect(left == [])
        }
    }

    private func size(of file: String) -> Int {
        var status = stat()
        return stat(file, &status) == 0 ? Int(status.st_size) : 0
    }
}

/// How many of this process's descriptors belong to files whose paths begin so.
func openDescriptors(of file: String) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count {
        // A descriptor that was closed since the listing no longer exists.
        let target = try? FileManager.default.destinationOfSymbolicLink(
            atPath: "/proc/self/fd/" + $0)
        return target?.hasPrefix(file) == true
    }
}

/// A clock that only the test advances.
final class HeldTime: Sendable {
    private let uptimeSeconds = Mutex(0.0)
    private let pauses: Pauses
    private let round: AsyncStream<Void>.Continuation

    init() {
        let (rounds, round) = AsyncStream.makeStream(of: Void.self)
        pauses = Pauses(rounds)
        self.round = round
    }

    var world: World {
        var world = World.live
        world.uptimeSeconds = { self.uptimeSeconds.withLock { $0 } }
        world.sleep = { _ in try await self.pauses.next() }
        return world
    }

    /// Advances the clock by so many seconds, which ends the sleeps that are due.
    func pass(seconds: Double) {
        uptimeSeconds.withLock { $0 += seconds }
        round.yield()
    }
}

/// Pauses that end when the test says so.
actor Pauses {
    private var rounds: AsyncStream<Void>.Iterator

    init(_ rounds: AsyncStream<Void>) {
        self.rounds = rounds.makeAsyncIterator()
    }

    func next() async throws {
        var iterator = rounds
        guard await iterator.next(isolation: self) != nil else { throw CancellationError() }
    }
}
