import Foundation
import GRDB
import InMemoryLogging
import Logging
import StratusRecords
import StratusTesting
import Testing

@testable import StratusStorage

/// The running service finds damage even if no request reads the damaged row.
@Suite struct FolderScrubTests {
    /// A changed byte in the index by name: a lookup of that record finds nothing, without an error.
    @Test func indexThatHidesARecordIsFound() async throws {
        try await withMarkedFolder { folder in
            let file = folder.file(of: MarkedFolder.alice)
            let names = ["aaaaaaaaaaaaaaaaaaaa", "hidden-record-of-index", "zzzzzzzzzzzzzzzzzzzz"]
            try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                _ = try await MarkedFolder.save(names, to: store) { _ in Array("{}".utf8) }
            }
            // The name is in the row's page and in the index's.
            var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
            let root = try Self.rootPage(of: "record_by_name", in: file)
            let page = (root.number - 1) * root.bytes..<root.number * root.bytes
            let place = try #require(bytes[page].range(of: Data(names[1].utf8)))
            bytes[place.lowerBound] ^= 1
            try bytes.write(to: URL(fileURLWithPath: file))

            let clock = TestClock()
            let handler = InMemoryLogHandler()
            try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                #expect(try await MarkedFolder.lookUp([names[1]], in: store).isEmpty)
                #expect(try await MarkedFolder.lookUp([names[0]], in: store).count == 1)
                let scrub = FolderScrub(
                    storage, world: clock.world, logger: Logger(label: "test") { _ in handler })
                let findings = try await Self.round(of: scrub, clock)
                #expect(!findings.isEmpty)
                #expect(findings.allSatisfy { $0.path == file })
                #expect(handler.entries.count == findings.count)
            }
        }
    }

    /// If the file is intact, the invariants of its rows are checked as well.
    @Test func findingsOfTheContentsAreReported() async throws {
        let finding = Finding(
            invariant: "A key says what its record says.", path: "file", violation: "a")
        let checked = try await check { $0 == MarkedFolder.alice ? [finding] : [] }
        #expect(checked.findings == [finding])
        #expect(checked.levels == [.error])
    }

    /// A database that the check cannot read has no findings; without a line in the log it would look healthy.
    @Test func databaseThatCannotBeReadIsLogged() async throws {
        let checked = try await check { _ in
            throw StorageError(.busy, "Too many files are open. Try again later.")
        }
        #expect(checked.findings == [])
        #expect(checked.levels == [.warning])
    }

    @Test func soundDatabasesHaveNoFindings() async throws {
        let checked = try await check { _ in [] }
        #expect(checked.findings == [])
        #expect(checked.levels == [])
    }

    /// Checks a folder with one record once, and returns the levels of what was logged.
    private func check(
        contents: @escaping @Sendable (DatabaseAddress) async throws -> [Finding]
    ) async throws -> (findings: [Finding], levels: [Logger.Level]) {
        try await withMarkedFolder { folder in
            let clock = TestClock()
            let handler = InMemoryLogHandler()
            return try await folder.withStorage { storage in
                let store = try await storage.store(for: MarkedFolder.alice)
                _ = try await MarkedFolder.save(["a"], to: store)
                let scrub = FolderScrub(
                    storage, world: clock.world, logger: Logger(label: "test") { _ in handler },
                    contents: contents)
                let findings = try await Self.round(of: scrub, clock)
                return (findings: findings, levels: handler.entries.map(\.level))
            }
        }
    }

    /// A folder that cannot be listed does not end the checks.
    @Test func folderThatCannotBeListedIsLoggedAndCheckedAgain() async throws {
        try await withMarkedFolder { folder in
            let clock = TestClock()
            let handler = InMemoryLogHandler()
            try await folder.withStorage { storage in
                let scrub = FolderScrub(
                    storage, world: clock.world, logger: Logger(label: "test") { _ in handler })
                try Data().write(to: URL(fileURLWithPath: folder.path + "/databases"))
                let checks = Task { await scrub.run() }
                await clock.waitForSleeper(seconds: FolderScrub.startSeconds)
                clock.advance(bySeconds: FolderScrub.startSeconds)
                await clock.waitForSleeper(seconds: FolderScrub.startSeconds)
                #expect(handler.entries.map(\.level) == [.error])
                // The next round finds it again.
                clock.advance(bySeconds: FolderScrub.startSeconds)
                await clock.waitForSleeper(seconds: FolderScrub.startSeconds)
                #expect(handler.entries.count == 2)
                checks.cancel()
                await checks.value
                #expect(handler.entries.count == 2)
            }
        }
    }

    /// Checks the folder's only database once.
    private static func round(of scrub: FolderScrub, _ clock: TestClock) async throws -> [Finding] {
        async let found = scrub.round()
        await clock.waitForSleeper(seconds: FolderScrub.leastRestSeconds)
        clock.advance(bySeconds: FolderScrub.leastRestSeconds)
        return try await found
    }

    private static func rootPage(
        of index: String, in file: String
    ) throws -> (number: Int, bytes: Int) {
        let queue = try DatabaseQueue(path: file)
        let found = try queue.inDatabase { database in
            let number = try Int.fetchOne(
                database, sql: "SELECT rootpage FROM sqlite_schema WHERE name = ?",
                arguments: [index])
            return (number ?? 0, try Int.fetchOne(database, sql: "PRAGMA page_size") ?? 0)
        }
        try queue.close()
        return found
    }
}
