import Foundation
import InMemoryLogging
import Logging
import StratusRecords
import Testing

@testable import StratusStorage

/// Changes of a mark's file while its database is open.
@Suite struct MarkFileTests {
    /// Accessing a mapped page of a file that was truncated ends the process.
    @Test(arguments: ["emptied", "cut short", "removed"])
    func damagedMarkIsRecreatedByTheNextCommit(_ what: String) async throws {
        try await withMarkedFolder { folder in
            let file = folder.file(of: MarkedFolder.alice)
            let mark = file.replacing(".sqlite", with: ".mark")
            try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                _ = try await MarkedFolder.save(["a", "b"], to: store)
                switch what {
                case "emptied": #expect(truncate(mark, 0) == 0)
                case "cut short": #expect(truncate(mark, 20) == 0)
                default: #expect(unlink(mark) == 0)
                }
                _ = try await MarkedFolder.save(["c"], to: store)
                #expect(try HighWaterMark.existing(at: mark)?.commits == 3)
                // Other users have no permissions for it.
                var status = stat()
                #expect(stat(mark, &status) == 0 && status.st_mode & 0o777 == 0o600)
                #expect(status.st_size == 64)
            }
            // The mark belongs to the database again, and reveals a loss.
            let files = folder.files(of: MarkedFolder.alice)
            try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                _ = try await MarkedFolder.save(["d"], to: store)
            }
            try #require(files[file]).write(to: URL(fileURLWithPath: file))
            let error = await #expect(throws: StorageError.self) {
                try await folder.withStorage { _ = try await $0.store(for: MarkedFolder.alice) }
            }
            #expect(error?.message.contains("1 commits fewer than were acknowledged") == true)
        }
    }

    /// The commits succeed, since they are on the disk; the operator learns once that a loss would go unnoticed.
    @Test func markThatCannotBeWrittenIsLoggedOnce() async throws {
        try await withMarkedFolder { folder in
            let handler = InMemoryLogHandler()
            try await folder.withStorage(logger: Logger(label: "test") { _ in handler }) {
                storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                _ = try await MarkedFolder.save(["a"], to: store)
                let mark = HighWaterMark.path(ofDatabase: folder.file(of: MarkedFolder.alice))
                try FileManager.default.removeItem(atPath: mark)
                try FileManager.default.createDirectory(
                    atPath: mark, withIntermediateDirectories: false)
                _ = try await MarkedFolder.save(["b", "c"], to: store)
                #expect(handler.entries.filter { $0.level == .error }.count == 1)
                try FileManager.default.removeItem(atPath: mark)
                _ = try await MarkedFolder.save(["d"], to: store)
                #expect(try HighWaterMark.existing(at: mark) != nil)
                #expect(handler.entries.filter { $0.level == .error }.count == 1)
            }
        }
    }

    @Test func raiseIgnoresLowerCommitsAndReplacedMarks() async throws {
        try await withTemporaryFolder(isMade: true) { path in
            let file = path + "/a.mark"
            let mark = try HighWaterMark.make(at: file, identifier: 7, commits: 5)
            #expect(mark.raise(to: 9) == nil)
            #expect(mark.raise(to: 8) == nil)
            #expect(try HighWaterMark.existing(at: file)?.commits == 9)
            // A mark that was replaced meanwhile, since its loss was accepted, is not changed.
            try HighWaterMark.replace(at: file, identifier: 8, commits: 2)
            #expect(mark.raise(to: 10) == nil)
            #expect(try HighWaterMark.existing(at: file)?.commits == 2)
        }
    }

    /// A backup without acknowledged commits would be mistaken for a complete one.
    @Test func copyOfDatabaseThatIsBehindIsRefused() async throws {
        try await withMarkedFolder { folder in
            let file = folder.file(of: MarkedFolder.alice)
            try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                _ = try await MarkedFolder.save(["a"], to: store)
            }
            let before = try #require(folder.files(of: MarkedFolder.alice)[file])
            try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                _ = try await MarkedFolder.save(["b"], to: store)
            }
            try SQLiteCopy.copy(file, to: folder.path + "/whole.sqlite")
            try before.write(to: URL(fileURLWithPath: file))
            for content in [before, Data()] {
                try content.write(to: URL(fileURLWithPath: file))
                let error = #expect(throws: StorageError.self) {
                    try SQLiteCopy.copy(file, to: folder.path + "/copy\(content.count).sqlite")
                }
                #expect(error?.code == .corrupt)
                #expect(error?.message.contains("fewer than were acknowledged") == true)
            }
            #expect(try SQLiteCopy.loss(ofMissing: file) == nil)
            #expect(unlink(file) == 0)
            let loss = try SQLiteCopy.loss(ofMissing: file)
            #expect(loss?.message.contains("2 commits of it were acknowledged") == true)
        }
    }
}
