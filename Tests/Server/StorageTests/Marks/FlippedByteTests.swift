import Foundation
import StratusRecords
import StratusTesting
import TestSeeds
import Testing

@testable import StratusStorage

/// Changes one byte anywhere in a database's files: each acknowledged record is served unchanged, or an error
/// reports that it is damaged. A damaged index, which has no checksum, is reported by doctor.
@Suite struct FlippedByteTests {
    private static let names = (0..<60).map { "record\($0)" }

    /// `STRATUS_LONG=1` tries more.
    private static let tries =
        ProcessInfo.processInfo.environment["STRATUS_LONG"] == nil ? 150 : 5_000

    enum State: String, CaseIterable, Sendable {
        /// All data is in the file.
        case stopped
        /// All data is in the log.
        case killed
    }

    @Test(arguments: State.allCases, Seeds.forTest("FlippedByteTests", count: 1))
    func flippedByteIsNoticedOrHarmless(_ state: State, seed: UInt64) async throws {
        try await withMarkedFolder { folder in
            var limits = StorageLimits()
            limits.logPagesBeforeCheckpoint = 1_000_000
            let killed = try await folder.withStorage(limits: limits) { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                let saved = try await MarkedFolder.save(Self.names, to: store)
                return (saved: saved, files: folder.files(of: MarkedFolder.alice))
            }
            let files = state == .killed ? killed.files : folder.files(of: MarkedFolder.alice)
            #expect(try await Self.outcome(folder, killed.saved) == .served)
            var random = SeededNumbers(seed: seed)
            var noticed = 0
            for attempt in 0..<Self.tries {
                var damaged = files
                let file = try #require(files.keys.sorted().randomElement(using: &random))
                let offset = Int.random(in: 0..<files[file, default: Data()].count, using: &random)
                damaged[file]?[offset] ^= UInt8.random(in: 1...255, using: &random)
                try folder.put(damaged, of: MarkedFolder.alice)
                let what: Comment = """
                    try \(attempt) of seed \(seed), \(state.rawValue): byte \(offset) of \(file)
                    """
                do {
                    let outcome = try await Self.outcome(folder, killed.saved)
                    #expect(outcome != .silent, what)
                    #expect(outcome != .hidden || state == .stopped, what)
                } catch is StorageError {
                    noticed += 1
                }
            }
            #expect(noticed > 0)
        }
    }

    enum Outcome: Hashable {
        /// Every record is unchanged, or an error reports it.
        case served
        /// A record is missing without an error, and doctor reports it.
        case hidden
        /// A record is missing or changed, and nothing reports it.
        case silent
    }

    private static func outcome(
        _ folder: MarkedFolder, _ saved: [String: [UInt8]]
    ) async throws -> Outcome {
        try await folder.withStorage { storage in
            let store = try await storage.store(for: MarkedFolder.alice)
            if try await serves(saved, from: store) { return .served }
            let check = try await storage.check()
            return check.findings.isEmpty ? .silent : .hidden
        }
    }

    /// Whether lookups and a fetch of all changes return every record unchanged, or an error in its place.
    private static func serves(
        _ saved: [String: [UInt8]], from store: any RecordStore
    ) async throws -> Bool {
        for name in names {
            do {
                let found = try await MarkedFolder.lookUp([name], in: store)[name]
                if found != saved[name] { return false }
            } catch let error as StorageError where error.damagedRow != nil {
                // The error of this row; the others are looked up too.
            }
        }
        do {
            return try await MarkedFolder.fetchChanges(in: store) == saved
        } catch let error as StorageError where error.damagedRow != nil {
            return true
        }
    }
}
