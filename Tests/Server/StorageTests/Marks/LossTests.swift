import Foundation
import StratusRecords
import Testing

@testable import StratusStorage

/// Acknowledged data that is lost, changed or replaced is noticed and reported as an error.
@Suite struct LossTests {
    private static let names = (0..<300).map { "record\($0)" }

    /// SQLite cuts the log at its first damaged frame, without an error.
    @Test func flippedByteInLogIsNoticed() async throws {
        try await withMarkedFolder { folder in
            let killed = try await Self.killed(folder)
            let log = folder.file(of: MarkedFolder.alice) + "-wal"
            var files = killed.files
            let bytes = try #require(files[log])
            files[log]?[bytes.count / 3] ^= 1
            try folder.put(files, of: MarkedFolder.alice)
            let error = try await Self.refusal(folder)
            #expect(error?.code == .corrupt)
            #expect(error?.path == folder.file(of: MarkedFolder.alice))
            #expect(error?.message.contains("commits fewer than were acknowledged") == true)

            // With the original log, all records are found.
            try folder.put(killed.files, of: MarkedFolder.alice)
            #expect(try await Self.found(folder) == killed.saved)

            // Only the mark shows it: without the mark, most records are lost without an error.
            try folder.put(files, of: MarkedFolder.alice)
            try FileManager.default.removeItem(
                atPath: folder.file(of: MarkedFolder.alice).replacing(".sqlite", with: ".mark"))
            #expect(try await Self.found(folder).count < 200)
        }
    }

    @Test(arguments: ["deleted", "emptied", "without its log"])
    func missingFileIsNoticed(_ what: String) async throws {
        try await withMarkedFolder { folder in
            var files = try await Self.killed(folder).files
            let file = folder.file(of: MarkedFolder.alice)
            switch what {
            case "deleted":
                files[file] = nil
                files[file + "-wal"] = nil
                try FileManager.default.removeItem(atPath: file)
            case "emptied":
                files[file] = Data()
                files[file + "-wal"] = nil
            default:
                files[file + "-wal"] = nil
            }
            try folder.put(files, of: MarkedFolder.alice)
            for _ in 0..<2 {
                let error = try await Self.refusal(folder)
                #expect(error?.code == .corrupt)
                #expect(error?.path == file)
                #expect(error?.message.contains("stratus doctor --accept-loss") == true)
            }
            #expect(FileManager.default.fileExists(atPath: file) == (what != "deleted"))
        }
    }

    /// A lost directory must be noticed too: otherwise it would be recreated without users, with another signing key.
    @Test(arguments: [true, false]) func missingDirectoryIsNoticed(hasMark: Bool) async throws {
        try await withMarkedFolder { folder in
            _ = try await Self.killed(folder)
            let directory = folder.path + "/directory"
            try FileManager.default.removeItem(atPath: directory + ".sqlite")
            if !hasMark { try FileManager.default.removeItem(atPath: directory + ".mark") }
            let error = #expect(throws: StorageError.self) {
                try SQLiteStorageEngine(folder: folder.path)
            }
            #expect(error?.code == .corrupt)
            #expect(error?.path == directory + ".sqlite")
            #expect(!FileManager.default.fileExists(atPath: directory + ".sqlite"))
        }
    }

    @Test(arguments: ["the way to record7", #""title""#, "STRING"])
    func flippedByteInValueIsNoticed(_ text: String) async throws {
        try await withMarkedFolder { folder in
            let file = folder.file(of: MarkedFolder.alice)
            let names = ["record7", "other"]
            let saved = try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                return try await MarkedFolder.save(names, to: store)
            }
            try MarkedFolder.flip(text, in: file)
            try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                var found: [String: [UInt8]] = [:]
                var errors: [StorageError] = []
                for name in names {
                    do {
                        found.merge(try await MarkedFolder.lookUp([name], in: store)) { $1 }
                    } catch let error as StorageError {
                        errors.append(error)
                    }
                }
                #expect(found.count == 1)
                #expect(found == saved.filter { found[$0.key] != nil })
                #expect(errors.map(\.code) == [.corrupt])
                #expect(errors.first?.path == file)
                await #expect(throws: StorageError.self) {
                    try await MarkedFolder.fetchChanges(in: store)
                }
            }
        }
    }

    @Test func fileOfAnotherUserIsNoticed() async throws {
        try await withMarkedFolder { folder in
            _ = try await Self.killed(folder)
            try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.bob)
                _ = try await MarkedFolder.save(["bobs"], to: store)
            }
            let file = folder.file(of: MarkedFolder.alice)
            let bobs = try Data(contentsOf: URL(fileURLWithPath: folder.file(of: MarkedFolder.bob)))
            try folder.put([file: bobs], of: MarkedFolder.alice)
            let error = try await Self.refusal(folder)
            #expect(error?.code == .corrupt)
            #expect(error?.path == file)
            #expect(error?.message.contains("/_alice") == true, "\(error?.message ?? "")")
            #expect(error?.message.contains("/_bob") == true)
        }
    }

    /// The same user's file from another folder: the same address and commit count, but another history.
    @Test func fileOfAnotherFolderIsNoticed() async throws {
        try await withTemporaryFolder { path in
            try await withTemporaryFolder { otherPath in
                let folder = MarkedFolder(path)
                let other = MarkedFolder(otherPath)
                for folder in [folder, other] {
                    try await folder.withStorage { storage in
                        let store = try await storage.store(for: MarkedFolder.alice)
                        _ = try await MarkedFolder.save(["a", "b"], to: store)
                    }
                }
                let file = folder.file(of: MarkedFolder.alice)
                let bytes = try Data(
                    contentsOf: URL(fileURLWithPath: other.file(of: MarkedFolder.alice)))
                try folder.put([file: bytes], of: MarkedFolder.alice)
                let error = try await Self.refusal(folder)
                #expect(error?.code == .corrupt)
                #expect(error?.path == file)
                #expect((error?.underlying as? LossRefusal)?.reason == .replaced)
            }
        }
    }

    // MARK: -

    private static func found(_ folder: MarkedFolder) async throws -> [String: [UInt8]] {
        try await folder.withStorage { storage in
            let store = try await storage.store(for: MarkedFolder.alice)
            return try await MarkedFolder.lookUp(Self.names, in: store)
        }
    }

    /// Saves 300 records one after the other, and returns the files as a killed process leaves them. All records
    /// are in the log alone.
    private static func killed(
        _ folder: MarkedFolder
    ) async throws -> (saved: [String: [UInt8]], files: [String: Data]) {
        var limits = StorageLimits()
        limits.logPagesBeforeCheckpoint = 1_000_000
        limits.logPagesBeforeForcedCheckpoint = 1_000_000
        return try await folder.withStorage(limits: limits) { storage in
            let store = try await storage.store(for: MarkedFolder.alice)
            let saved = try await MarkedFolder.save(names, to: store)
            return (saved, folder.files(of: MarkedFolder.alice))
        }
    }

    /// The error with which opening Alice's database is refused.
    private static func refusal(_ folder: MarkedFolder) async throws -> StorageError? {
        try await folder.withStorage { storage in
            await #expect(throws: StorageError.self) {
                _ = try await storage.store(for: MarkedFolder.alice)
            }
        }
    }
}
