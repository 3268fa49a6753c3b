import FaultFiles
import Foundation
import GRDB
import StratusRecords
import StratusRuntime
import StratusTesting
import Synchronization
import TestSeeds
import Testing

@testable import StratusStorage

/// A database that is closed because too many are open leaves an empty log for its next opening.
@Suite struct KeptLogTests {
    /// Each use of another database closes the one before.
    private static let limits = StorageLimits.with {
        $0.openDatabases = 1
        $0.idleSeconds = 3_600
    }

    private static func stores(
        _ storage: SQLiteStorageEngine
    ) async throws -> (alice: any RecordStore, bob: any RecordStore) {
        let stores = (
            try await storage.store(for: MarkedFolder.alice),
            try await storage.store(for: MarkedFolder.bob)
        )
        _ = try await MarkedFolder.save(["first"], to: stores.0)
        _ = try await MarkedFolder.save(["first"], to: stores.1)
        return stores
    }

    /// Logs and their indexes below a folder.
    private static func logs(in folder: String) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder + "/databases")
            .filter { $0.hasSuffix("-wal") || $0.hasSuffix("-shm") }
    }

    private static func size(of file: String) -> Int {
        var status = stat()
        return stat(file, &status) == 0 ? Int(status.st_size) : 0
    }

    /// The file's number, the same as long as it is the same file; 0 where there is none.
    private static func number(of file: String) -> UInt64 {
        var status = stat()
        return stat(file, &status) == 0 ? UInt64(status.st_ino) : 0
    }

    /// Opens with the log and the index that were left, without a checkpoint first.
    @Test func emptyLogIsLeftForTheNextOpening() async throws {
        try await withTemporaryFolder { path in
            try await MarkedFolder(path).withStorage(limits: Self.limits) { storage in
                let stores = try await Self.stores(storage)
                let file = MarkedFolder(path).file(of: MarkedFolder.alice)
                let left = [Self.number(of: file + "-wal"), Self.number(of: file + "-shm")]
                #expect(!left.contains(0) && Self.size(of: file + "-wal") == 0)
                let openings = storage.openings
                _ = try await MarkedFolder.save(["again"], to: stores.alice)
                #expect(storage.openings == openings + 1)
                #expect(left == [Self.number(of: file + "-wal"), Self.number(of: file + "-shm")])
                #expect(Self.size(of: file + "-wal") > 0)
            }
        }
    }

    /// A command has the file open next to the service: the log stays unchanged, and closing does not wait for it.
    @Test func openReaderKeepsLogWithoutDelay() async throws {
        try await withTemporaryFolder { path in
            try await MarkedFolder(path).withStorage(limits: Self.limits) { storage in
                let stores = try await Self.stores(storage)
                _ = try await MarkedFolder.save(["before"], to: stores.alice)
                let file = MarkedFolder(path).file(of: MarkedFolder.alice)
                var configuration = Configuration()
                configuration.allowsUnsafeTransactions = true
                let reader = try DatabaseQueue(path: file, configuration: configuration)
                try reader.unsafeReentrantWrite { database in
                    try database.execute(sql: "BEGIN; SELECT * FROM zone")
                }
                _ = try await MarkedFolder.save(["after"], to: stores.alice)
                let began = ContinuousClock.now
                _ = try await MarkedFolder.save(["next"], to: stores.bob)
                #expect(ContinuousClock.now - began < .seconds(4))
                #expect(Self.size(of: file + "-wal") > 0)
                try reader.close()
                let names = ["before", "after"]
                #expect(try await MarkedFolder.lookUp(names, in: stores.alice).count == 2)
            }
        }
    }

    @Test func keptLogUsesNoDescriptorsAndIsRemovedWhenIdle() async throws {
        try await withTemporaryFolder { path in
            let time = HeldTime()
            var limits = Self.limits
            limits.idleSeconds = 30
            let storage = try SQLiteStorageEngine(folder: path, limits: limits, world: time.world)
            _ = try await Self.stores(storage)
            let file = MarkedFolder(path).file(of: MarkedFolder.alice)
            #expect(try Self.logs(in: path).count == 4)
            #expect(try openDescriptors(of: file) == 0)
            time.pass(seconds: 31)
            // Waits for the end of the round by polling, since it is not announced.
            for _ in 0..<10_000 where try !Self.logs(in: path).isEmpty {
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(try Self.logs(in: path) == [])
            let alice = try await storage.store(for: MarkedFolder.alice)
            #expect(try await MarkedFolder.lookUp(["first"], in: alice).count == 1)
            try await storage.close()
        }
    }

    @Test func stopRemovesKeptLogs() async throws {
        try await withTemporaryFolder { path in
            try await MarkedFolder(path).withStorage(limits: Self.limits) { storage in
                _ = try await Self.stores(storage)
                #expect(try Self.logs(in: path).count == 4)
            }
            #expect(try Self.logs(in: path) == [])
        }
    }

    /// An operator who removed the files intended that.
    @Test func removedDatabaseIsNotRecreated() async throws {
        try await withMarkedFolder { folder in
            try await folder.withStorage(limits: Self.limits) { storage in
                _ = try await Self.stores(storage)
                let file = folder.file(of: MarkedFolder.alice)
                let mark = HighWaterMark.path(ofDatabase: file)
                for file in [file, file + "-wal", file + "-shm", mark] {
                    try FileManager.default.removeItem(atPath: file)
                }
            }
            #expect(!FileManager.default.fileExists(atPath: folder.file(of: MarkedFolder.alice)))
        }
    }

    /// Either the log was emptied before the power cut, or it returns with pages that the file already has.
    @Test(arguments: Seeds.forTest("KeptLogTests", count: 6))
    func powerCutAtKeptLogsLosesNothing(seed: UInt64) async throws {
        var random = SeededNumbers(seed: seed)
        let copy = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-\(UUID().uuidString)").path
        defer {
            // Failing to remove a temporary folder must not fail the test.
            try? FileManager.default.removeItem(atPath: copy)
        }
        let names = (0...Int.random(in: 0...12, using: &random)).map { "r\($0)" }
        try await withTemporaryFolder { path in
            let disk = FaultFolder(path)
            try await MarkedFolder(path).withStorage(limits: Self.limits) { storage in
                let stores = try await Self.stores(storage)
                for name in names {
                    for store in [stores.alice, stores.bob] {
                        _ = try await MarkedFolder.save([name], to: store)
                    }
                }
                let cut = seed.isMultiple(of: 2) ? fault_cut_tears : fault_cut_forgets
                try disk.cut(to: copy, cut, marks: .newest, random: &random)
            }
        }
        try await MarkedFolder(copy).withStorage { storage in
            #expect(try await storage.check().findings == [], "seed \(seed)")
            for address in [MarkedFolder.alice, MarkedFolder.bob] {
                let store = try await storage.store(for: address)
                let found = try await MarkedFolder.lookUp(["first"] + names, in: store)
                #expect(found.count == names.count + 1, "seed \(seed)")
            }
        }
    }
}
