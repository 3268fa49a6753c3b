import Foundation
import StratusRecords
import StratusRuntime
import Synchronization
import Testing

@testable import StratusStorage

/// The epoch in which each process writes, and when it begins another one.
@Suite struct WritingEpochTests {
    private static let container = ContainerAddress(
        container: "iCloud.org.example.Trails", environment: .development)
    private let address = DatabaseAddress(container, .private(owner: "_alice"))
    private let other = DatabaseAddress(container, .public)

    /// The numbers of the database's epochs.
    private func epochs(_ storage: SQLiteStorageEngine) async throws -> [Int64] {
        try await storage.store(for: address).read { reader in
            try reader.epochs(of: nil, from: 0, limit: 99).map(\.epoch.number)
        }
    }

    /// - Returns: The number of the epoch of the write.
    @discardableResult
    private func write(_ storage: SQLiteStorageEngine) async throws -> Int64 {
        try await storage.store(for: address).writeRecords { writer in
            let zone = try writer.createZone(named: "Trails", hasFeed: true).key
            _ = try writer.takeVersions(1, in: zone)
            return try writer.epoch.number
        }
    }

    private func oneOpen() -> StorageLimits {
        var limits = StorageLimits()
        limits.openDatabases = 1
        return limits
    }

    @Test func everyOpeningThatWritesBeginsAnEpoch() async throws {
        try await withTemporaryFolder { folder in
            for number in 2...4 as ClosedRange<Int64> {
                let storage = try SQLiteStorageEngine(folder: folder)
                #expect(try await write(storage) == number)
                #expect(try await write(storage) == number)
                try await storage.close()
                // Opening the database for a read writes nothing.
                let reading = try SQLiteStorageEngine(folder: folder)
                #expect(try await epochs(reading) == Array(1...number))
                try await reading.close()
            }
        }
    }

    @Test func databaseClosedAtTheOpenLimitKeepsItsEpoch() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder, limits: oneOpen())
            let epoch = try await write(storage)
            for _ in 0..<3 {
                _ = try await storage.store(for: other)
                #expect(storage.openDatabases == 1)
                #expect(try await write(storage) == epoch)
            }
            try await storage.close()
        }
    }

    @Test func restoredCopyBeginsAnEpoch() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder, limits: oneOpen())
            let epoch = try await write(storage)
            _ = try await storage.store(for: other)
            let file = storage.path(of: address)
            let copy = try Data(contentsOf: URL(fileURLWithPath: file))
            #expect(try await write(storage) == epoch)
            _ = try await storage.store(for: other)
            try copy.write(to: URL(fileURLWithPath: file))
            // As if the whole folder is put back: with a newer mark the file would be refused.
            try FileManager.default.removeItem(atPath: HighWaterMark.path(ofDatabase: file))
            #expect(try await write(storage) == epoch + 1)
            #expect(try await write(storage) == epoch + 1)
            try await storage.close()
        }
    }

    /// After the command's writes, the service's next write begins another epoch.
    @Test func secondProcessWritesInItsOwnEpoch() async throws {
        try await withTemporaryFolder { folder in
            let service = try SQLiteStorageEngine(folder: folder)
            let epoch = try await write(service)
            let command = try SQLiteStorageEngine(folder: folder, access: .beside)
            #expect(try await write(command) == epoch + 1)
            #expect(try await write(command) == epoch + 1)
            try await command.close()
            #expect(try await write(service) == epoch + 2)
            #expect(try await write(service) == epoch + 2)
            try await service.close()
        }
    }

    /// A virtual machine that resumes with its memory continues at the uptime at which it was stopped, while its
    /// time of day is corrected.
    @Test(
        arguments: [
            (0, 0, 0), (59, 0, 0), (61, 0, 1), (-61, 0, 1), (3_600, 3_600, 0), (3_600, 3_500, 1),
        ] as [(Int64, Double, Int64)])
    func clockJumpBeginsAnEpoch(_ ofDay: Int64, _ up: Double, _ begun: Int64) async throws {
        let time = Mutex<(ofDay: Int64, up: Double)>((1_750_000_000_000, 5))
        var world = World.live
        world.nowMilliseconds = { time.withLock { $0.ofDay } }
        world.uptimeSeconds = { time.withLock { $0.up } }
        let storage = SQLiteStorageEngine.inMemory(world: world)
        let epoch = try await write(storage)
        time.withLock { $0 = ($0.ofDay + ofDay * 1_000, $0.up + up) }
        #expect(try await write(storage) == epoch + begun)
        #expect(try await write(storage) == epoch + begun)
        try await storage.close()
    }

    /// A slow clock never differs enough from the other, since they are compared from write to write.
    @Test func clockDriftBeginsNoEpoch() async throws {
        let milliseconds = Mutex<Int64>(1_750_000_000_000)
        var world = World.live
        world.nowMilliseconds = { milliseconds.withLock { $0 } }
        world.uptimeSeconds = { 0 }
        let storage = SQLiteStorageEngine.inMemory(world: world)
        let epoch = try await write(storage)
        for _ in 0..<10 {
            milliseconds.withLock { $0 += 20_000 }
            #expect(try await write(storage) == epoch)
        }
        try await storage.close()
    }

    @Test func migrationMakesTheFirstEpoch() async throws {
        try await withTemporaryFolder { folder in
            let storage = try SQLiteStorageEngine(folder: folder)
            _ = try await storage.store(for: other)
            try await storage.close()
            let path = DataFolder.path(of: address, in: folder)
            let old = try SQLiteFile(
                path: path, format: RecordFile.format(world: .live).through(7))
            try await old.write { database in
                try database.execute(
                    sql: """
                        UPDATE history SET incarnation_number = 3, incarnation_identifier = -9,
                            version = 8;
                        INSERT INTO zone VALUES (2, 'Trails', 1, 4, 0, 1, 8, NULL, 'PER_RECORD');
                        INSERT INTO outbox (body) VALUES (x'01');
                        """)
            }
            try old.close()
            let new = try SQLiteStorageEngine(folder: folder)
            let epoch = Epoch(number: 3, identifier: UInt64(bitPattern: -9))
            let row = EpochRow(epoch: epoch, startVersion: 0, startedMilliseconds: 0)
            try await new.store(for: address).read { reader in
                #expect(try reader.epoch == epoch)
                let zones = try ["Trails", "_defaultZone"].map {
                    try #require(try reader.zone(named: $0)).key
                }
                #expect(try reader.epochs(of: nil, from: 0, limit: 9) == [row])
                #expect(try reader.epochs(of: zones[0], from: 0, limit: 9) == [row])
                #expect(try reader.epochs(of: zones[1], from: 0, limit: 9).isEmpty)
                #expect(try reader.outbox(limit: 9).map(\.epoch) == [epoch])
            }
            #expect(try await write(new) == 4)
            #expect(try await new.check().findings == [])
            try await new.close()
        }
    }
}
