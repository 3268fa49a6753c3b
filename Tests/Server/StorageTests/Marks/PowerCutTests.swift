import FaultFiles
import Foundation
import StratusRecords
import StratusTesting
import Synchronization
import TestSeeds
import Testing

@testable import StratusStorage

/// Simulated power cuts on a disk that loses some or all unsynchronised writes.
@Suite struct PowerCutTests {
    /// `STRATUS_LONG=1` tries more.
    private static let count =
        ProcessInfo.processInfo.environment["STRATUS_LONG"] == nil ? 12 : 400

    static let seeds = Seeds.forTest("PowerCutTests", count: count)

    /// Everything that was acknowledged before the power cut exists afterwards, no file is refused, and no mark is
    /// ahead.
    @Test(arguments: seeds) func powerCutLosesNothingAcknowledged(seed: UInt64) async throws {
        var random = SeededNumbers(seed: seed)
        let cut = seed.isMultiple(of: 2) ? fault_cut_tears : fault_cut_forgets
        let outcome = try await Self.afterCut(cut, marks: .newest, &random)
        #expect(outcome == .complete, "seed \(seed)")
        let behind = try await Self.afterCut(cut, marks: .random, &random)
        #expect(behind == .complete, "seed \(seed)")
    }

    /// Shows that these tests can fail: they detect a disk that falsely confirms that data is synchronised. If the
    /// mark reached the disk, the loss is refused.
    @Test func diskThatFakesSyncIsDetected() async throws {
        var outcomes: Set<Outcome> = []
        for seed in Seeds.forTest("PowerCutTests.lying", count: 6) {
            var random = SeededNumbers(seed: seed)
            let noticed = try await Self.afterCut(
                fault_cut_forgets, marks: .newest, lies: true, &random)
            #expect(noticed == .refused, "seed \(seed)")
            outcomes.insert(
                try await Self.afterCut(
                    fault_cut_tears, marks: .oldest, lies: true, &random))
        }
        #expect(!outcomes.isSubset(of: [.complete]))
    }

    enum Outcome: Hashable {
        case complete
        /// Acknowledged records are missing, without an error.
        case lost
        case refused
    }

    /// Saves in several tasks, cuts the power meanwhile, and checks what is left.
    private static func afterCut(
        _ cut: fault_cut, marks: FaultFolder.Marks, lies: Bool = false,
        _ random: inout SeededNumbers
    ) async throws -> Outcome {
        let limit = Int.random(in: 1...60, using: &random)
        let copy = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-\(UUID().uuidString)").path
        defer {
            // Failing to remove a temporary folder must not fail the test.
            try? FileManager.default.removeItem(atPath: copy)
        }
        let saved = try await withTemporaryFolder { path in
            let disk = FaultFolder(path)
            if lies { disk.ignoreSyncs() }
            let folder = MarkedFolder(path)
            var limits = StorageLimits()
            limits.logPagesBeforeCheckpoint = Int.random(in: 4...60, using: &random)
            limits.writesPerCommit = 3
            var numbers = random
            let saved = try await folder.withStorage(limits: limits) { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                return try await save(to: store, until: limit) {
                    try disk.cut(to: copy, cut, marks: marks, random: &numbers)
                }
            }
            random = numbers
            return saved
        }
        do {
            let found = try await MarkedFolder(copy).withStorage { storage in
                #expect(try await storage.check().findings == [])
                let store = try await storage.store(for: MarkedFolder.alice)
                return try await MarkedFolder.fetchChanges(in: store)
            }
            return saved.allSatisfy { found[$0] == MarkedFolder.payload(of: $0) }
                ? .complete : .lost
        } catch is StorageError {
            return .refused
        }
    }

    private final class Acknowledged: Sendable {
        private let saved = Mutex<Set<String>>([])
        var names: Set<String> { saved.withLock { $0 } }
        func insert(_ name: String) { saved.withLock { _ = $0.insert(name) } }
    }

    /// Saves until so many records were acknowledged, and then cuts the power while others are being saved.
    ///
    /// - Returns: The records that were acknowledged before.
    private static func save(
        to store: any RecordStore, until limit: Int, cut: () throws -> Void
    ) async throws -> Set<String> {
        let acknowledged = Acknowledged()
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<4 {
                group.addTask {
                    for number in 0..<40 {
                        let name = "record\(task)-\(number)"
                        _ = try await MarkedFolder.save([name], to: store)
                        acknowledged.insert(name)
                    }
                }
            }
            while acknowledged.names.count < limit { await Task.yield() }
            let saved = acknowledged.names
            try cut()
            try await group.waitForAll()
            return saved
        }
    }

    // MARK: A disk that fails

    /// After some moment every write, read or synchronisation fails: a failing save reports it, and everything
    /// acknowledged exists when the disk works again, even after a power cut.
    @Test(arguments: seeds) func failingDiskLosesNothingAcknowledged(seed: UInt64) async throws {
        var random = SeededNumbers(seed: seed)
        let copy = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-\(UUID().uuidString)").path
        defer {
            // Failing to remove a temporary folder must not fail the test.
            try? FileManager.default.removeItem(atPath: copy)
        }
        try await withTemporaryFolder { path in
            let disk = FaultFolder(path)
            let folder = MarkedFolder(path)
            let kind = [fault_read, fault_write, fault_sync].randomElement(using: &random)
            let kinds = kind.map { [$0] } ?? []
            let after = Int.random(in: 0...120, using: &random)
            let error = Bool.random(using: &random) ? fault_io_error : fault_disk_full
            let saved = try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                var saved = try await MarkedFolder.save(["first"], to: store)
                disk.fail(kinds, after: after, error)
                for number in 0..<40 {
                    do {
                        saved.merge(try await MarkedFolder.save(["record\(number)"], to: store)) {
                            $1
                        }
                    } catch is StorageError {
                        // Refused, and therefore not acknowledged.
                    }
                }
                disk.failNoMore()
                return saved
            }
            let names = Array(saved.keys)
            let found = try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                return try await MarkedFolder.lookUp(names, in: store)
            }
            #expect(found == saved, "seed \(seed)")
            try disk.cut(to: copy, fault_cut_tears, marks: .newest, random: &random)
            let kept = try await MarkedFolder(copy).withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                return try await MarkedFolder.lookUp(names, in: store)
            }
            #expect(kept == saved, "seed \(seed)")
        }
    }
}
