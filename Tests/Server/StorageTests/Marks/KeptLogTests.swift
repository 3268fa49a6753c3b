import FaultFiles
import Foundation
import StratusRecords
import StratusRuntime
import StratusTesting
import Synchronization
import TestSeeds
import Testing

@testable import StratusStorage

/// A database that is closed for want of room leaves a short log, and what comes of it.
@Suite struct KeptLogTests {
    /// Each use of another database closes the one before, beside nobody.
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
        // The log with all tables of a new file is a long one, and folded.
        for name in ["made", "first"] {
            _ = try await MarkedFolder.save([name], to: stores.0)
            _ = try await MarkedFolder.save([name], to: stores.1)
        }
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

    /// The request that opens a database again waits for the disk as one whose database is open.
    @Test func saveIntoReopenedDatabaseWaitsForTheDiskOnce() async throws {
        try await withTemporaryFolder { path in
            let disk = FaultFolder(path)
            try await MarkedFolder(path).withStorage(limits: Self.limits) { storage in
                let stores = try await Self.stores(storage)
                for round in 0..<3 {
                    for store in [stores.alice, stores.bob] {
                        let (openings, syncs) = (storage.openings, disk.count([fault_sync]))
                        _ = try await MarkedFolder.save(["r\(round)"], to: store)
                        #expect(storage.openings == openings + 1)
                        #expect(disk.count([fault_sync]) == syncs + 1)
                    }
                }
            }
        }
    }

    @Test func keptLogTakesNoDescriptorsAndIsFoldedWhenIdle() async throws {
        try await withTemporaryFolder { path in
            let clock = Mutex(0.0)
            let (rounds, round) = AsyncStream.makeStream(of: Void.self)
            var world = World.live
            world.uptimeSeconds = { clock.withLock { $0 } }
            let pauses = Pauses(rounds)
            world.sleep = { _ in try await pauses.next() }
            var limits = Self.limits
            limits.idleSeconds = 30
            let storage = try SQLiteStorageEngine(folder: path, limits: limits, world: world)
            _ = try await Self.stores(storage)
            let file = MarkedFolder(path).file(of: MarkedFolder.alice)
            #expect(Self.size(of: file + "-wal") > 0)
            #expect(try openDescriptors(of: file) == 0)
            clock.withLock { $0 += 31 }
            round.yield()
            // The event to wait for is the end of the round; nothing announces it.
            for _ in 0..<10_000 where try !Self.logs(in: path).isEmpty {
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(try Self.logs(in: path) == [])
            let alice = try await storage.store(for: MarkedFolder.alice)
            #expect(try await MarkedFolder.lookUp(["first"], in: alice).count == 1)
            try await storage.close()
        }
    }

    @Test func stopFoldsKeptLogs() async throws {
        try await withTemporaryFolder { path in
            try await MarkedFolder(path).withStorage(limits: Self.limits) { storage in
                _ = try await Self.stores(storage)
                #expect(try Self.logs(in: path).count == 4)
            }
            #expect(try Self.logs(in: path) == [])
        }
    }

    /// The next opening would read all of it.
    @Test func longLogIsFoldedAtOnce() async throws {
        try await withTemporaryFolder { path in
            try await MarkedFolder(path).withStorage(limits: Self.limits) { storage in
                let stores = try await Self.stores(storage)
                for number in 0..<20 {
                    _ = try await MarkedFolder.save(["long\(number)"], to: stores.alice) { _ in
                        [UInt8](repeating: 7, count: 20_000)
                    }
                }
                _ = try await MarkedFolder.save(["next"], to: stores.bob)
                let log = MarkedFolder(path).file(of: MarkedFolder.alice) + "-wal"
                #expect(!FileManager.default.fileExists(atPath: log))
            }
        }
    }

    /// Whoever removed it meant it.
    @Test func removedDatabaseIsNotMadeAnew() async throws {
        try await withTemporaryFolder { path in
            let folder = MarkedFolder(path)
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

    /// A log that lies there closed is found after a power cut, as one that is open.
    @Test(arguments: Seeds.forTest("KeptLogTests", count: 6))
    func powerCutLosesNothingOfKeptLog(seed: UInt64) async throws {
        var random = SeededNumbers(seed: seed)
        let copy = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-\(UUID().uuidString)").path
        defer {
            // A leftover in the temporary folder fails no test.
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
