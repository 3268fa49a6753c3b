import Foundation
import GRDB
import InMemoryLogging
import Logging
import StratusRecords
import StratusSQLite
import StratusStorage
import TestSeeds
import Testing

/// A data folder of an earlier build can be opened, its migrations are logged, and newer formats are refused.
@Suite struct StoredDataFolderTests {
    /// Opens every file of the folder, as doctor does.
    private func check(
        _ fixture: StoredFormatFixture, _ logger: Logger = Logger(label: "test")
    ) async throws -> FolderCheck {
        let storage = try SQLiteStorageEngine(folder: fixture.dataFolder, logger: logger)
        let check = try await storage.check()
        try await storage.close()
        return check
    }

    private func rows<Value: Sendable>(
        _ path: String, _ body: @Sendable (Database) throws -> Value
    ) throws -> Value {
        let queue = try DatabaseQueue(path: path)
        defer {
            // The file is removed with its folder, closed or not.
            try? queue.close()
        }
        return try queue.read(body)
    }

    private func setFormat(_ number: Int, of path: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.inDatabase { try $0.execute(sql: "PRAGMA user_version = \(number)") }
        try queue.close()
    }

    @Test(arguments: StoredFormatFixture.services)
    func everyInvariantHolds(_ name: String) async throws {
        let fixture = try StoredFormatFixture(name)
        let check = try await check(fixture)
        #expect(check.findings == [])
        #expect(try check.files == 1 + fixture.recordFiles().count)
    }

    /// A new table needs a fixture that has a row of it.
    @Test func everyTableHasARow() async throws {
        let fixture = try StoredFormatFixture(#require(StoredFormatFixture.services.last))
        _ = try await check(fixture)
        var counts: [String: Int] = [:]
        for path in try fixture.recordFiles() + [fixture.dataFolder + "/directory.sqlite"] {
            let found = try rows(path) { database in
                let tables = try String.fetchAll(
                    database, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
                return try Dictionary(
                    uniqueKeysWithValues: tables.map { table in
                        let sql = "SELECT count(*) FROM \"\(table)\""
                        return (table, try Int.fetchOne(database, sql: sql) ?? 0)
                    })
            }
            counts.merge(found) { $0 + $1 }
        }
        let empty = counts.filter { $0.value == 0 }.keys.sorted()
        #expect(empty == [], "Add rows to Tests/Fixtures/Formats.")
        #expect(counts.count > 30)
    }

    /// A new format needs a fixture.
    @Test func newestFixtureHasCurrentFormats() async throws {
        let fixture = try StoredFormatFixture(#require(StoredFormatFixture.services.last))
        let newest = try await newestFormats()
        for path in try fixture.recordFiles() + [fixture.dataFolder + "/directory.sqlite"] {
            let format = try rows(path) { try Int.fetchOne($0, sql: "PRAGMA user_version") }
            #expect(format == newest[path.hasSuffix("/directory.sqlite") ? 0 : 1])
        }
    }

    /// A file that was migrated has the tables and indexes of a new one.
    @Test(arguments: StoredFormatFixture.services)
    func migratedFileHasTheTablesOfANewOne(_ name: String) async throws {
        let fixture = try StoredFormatFixture(name)
        _ = try await check(fixture)
        try await withTemporaryFolder { folder in
            let files = try await newFiles(in: folder)
            let directory = try schema(of: files[0])
            #expect(try schema(of: fixture.dataFolder + "/directory.sqlite") == directory)
            let records = try schema(of: files[1])
            for path in try fixture.recordFiles() { #expect(try schema(of: path) == records) }
        }
    }

    private func schema(of path: String) throws -> [String] {
        try rows(path) { database in
            try String.fetchAll(
                database,
                sql: """
                    SELECT sql FROM sqlite_schema
                    WHERE sql IS NOT NULL AND name NOT IN ('grdb_migrations', 'sqlite_sequence')
                    """
            ).map { $0.filter { !$0.isWhitespace } }.sorted()
        }
    }

    /// One log line for a file that is migrated, none for one that is not.
    @Test(arguments: StoredFormatFixture.services)
    func migrationsAreLogged(_ name: String) async throws {
        let fixture = try StoredFormatFixture(name)
        let handler = InMemoryLogHandler()
        _ = try await check(fixture, Logger(label: "test") { _ in handler })
        let newest = try await newestFormats()
        let older = try StoredFormatFixture(name)
        let outdated = try (older.recordFiles() + [older.dataFolder + "/directory.sqlite"])
            .filter { path in
                let format = try rows(path) { try Int.fetchOne($0, sql: "PRAGMA user_version") }
                return format != newest[path.hasSuffix("/directory.sqlite") ? 0 : 1]
            }
        #expect(handler.entries.count == outdated.count)
        let messages = handler.entries.map(\.message)
        #expect(
            messages.allSatisfy { $0 == "A file of an earlier format was brought up to date." })
    }

    /// A directory and a record file as this build makes them.
    private func newFiles(in folder: String) async throws -> [String] {
        let storage = try SQLiteStorageEngine(folder: folder)
        let address = DatabaseAddress(
            ContainerAddress(container: "iCloud.org.example.New", environment: .development),
            .public)
        _ = try await storage.store(for: address)
        let files = [folder + "/directory.sqlite", storage.path(of: address)]
        try await storage.close()
        return files
    }

    /// The formats of the directory and of a record file that this build makes.
    private func newestFormats() async throws -> [Int] {
        try await withTemporaryFolder { folder in
            try await newFiles(in: folder).compactMap { path in
                try rows(path) { try Int.fetchOne($0, sql: "PRAGMA user_version") }
            }
        }
    }

    // MARK: Newer formats

    @Test(arguments: StoredFormatFixture.services)
    func newerDirectoryIsRefused(_ name: String) throws {
        let fixture = try StoredFormatFixture(name)
        let path = fixture.dataFolder + "/directory.sqlite"
        try setFormat(99, of: path)
        let error = #expect(throws: StorageError.self) {
            try SQLiteStorageEngine(folder: fixture.dataFolder)
        }
        expectRefusal(error, of: path)
    }

    @Test(arguments: StoredFormatFixture.services)
    func newerRecordFileIsRefused(_ name: String) async throws {
        let fixture = try StoredFormatFixture(name)
        let path = try #require(try fixture.recordFiles().first { $0.hasSuffix("/public.sqlite") })
        try setFormat(99, of: path)
        let storage = try SQLiteStorageEngine(folder: fixture.dataFolder)
        let address = DatabaseAddress(
            ContainerAddress(container: "iCloud.org.example.Formats", environment: .development),
            .public)
        let error = await #expect(throws: StorageError.self) {
            _ = try await storage.store(for: address)
        }
        expectRefusal(error, of: path)
        try await storage.close()
    }

    @Test(arguments: StoredFormatFixture.services)
    func newerFolderIsRefused(_ name: String) throws {
        let fixture = try StoredFormatFixture(name)
        let path = fixture.dataFolder + "/format"
        try Data("stratus data 99\n".utf8).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: StorageError.self) {
            try SQLiteStorageEngine(folder: fixture.dataFolder)
        }
        expectRefusal(error, of: path)
    }

    /// The message names the file, its format, the newest format that this build reads, and what to do.
    private func expectRefusal(_ error: StorageError?, of path: String) {
        #expect(error?.code == .unknownFormat)
        #expect(error?.path == path)
        #expect(error?.message.contains("format 99") == true)
        #expect(error?.message.contains("the newest that this version of Stratus knows") == true)
        #expect(error?.message.hasSuffix("Update Stratus.") == true)
    }
}
