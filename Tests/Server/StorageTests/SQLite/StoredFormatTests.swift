import Foundation
import GRDB
import InMemoryLogging
import Logging
import StratusRecords
import StratusSQLite
import Testing

@testable import StratusStorage

/// Formats of database files: migrations and refusals.
@Suite struct StoredFormatTests {
    private static let format = StoredFormat(
        applicationID: 7,
        migrations: [
            .init("one", sql: "CREATE TABLE one (x)"),
            .init("two", sql: "CREATE TABLE two (x)"),
            .init("three", sql: "CREATE TABLE three (x)"),
        ],
        begin: { try $0.execute(sql: "INSERT INTO one VALUES (1)") })

    private func withFile(_ body: (String) async throws -> Void) async throws {
        try await withTemporaryFolder(isMade: true) { folder in
            try await body(folder + "/file.sqlite")
        }
    }

    /// Creates a file like releases before the migrator: with a format number, without the migrator's table.
    private func makeFile(_ path: String, format number: Int) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write { database in
            for migration in Self.format.migrations.prefix(number) {
                try migration.migrate(database)
            }
            try Self.format.begin(database)
            try database.execute(sql: "PRAGMA application_id = 7")
            try database.execute(sql: "PRAGMA user_version = \(number)")
        }
        try queue.close()
        chmod(path, 0o600)
    }

    private func tables(of path: String) throws -> [String] {
        let queue = try DatabaseQueue(path: path)
        defer {
            // The file is removed with its folder, closed or not.
            try? queue.close()
        }
        return try queue.read {
            try String.fetchAll($0, sql: "SELECT name FROM sqlite_schema WHERE type = 'table'")
                .filter { !$0.hasPrefix("sqlite_") }.sorted()
        }
    }

    @Test func newFileHasEveryMigrationAndTheFirstRows() async throws {
        try await withFile { path in
            let file = try SQLiteFile(path: path, format: Self.format)
            #expect(try await file.read { try Int.fetchAll($0, sql: "SELECT x FROM one") } == [1])
            try file.close()
            #expect(try tables(of: path) == ["grdb_migrations", "one", "three", "two"])
        }
    }

    @Test func fileOfCurrentFormatIsNotChanged() async throws {
        try await withFile { path in
            try makeFile(path, format: 3)
            try SQLiteFile(path: path, format: Self.format).close()
            #expect(try tables(of: path) == ["one", "three", "two"])
        }
    }

    @Test(arguments: [1, 2]) func olderFileIsMigratedAndLogged(_ number: Int) async throws {
        try await withFile { path in
            try makeFile(path, format: number)
            let handler = InMemoryLogHandler()
            let logger = Logger(label: "test") { _ in handler }
            for _ in 0..<2 {
                let file = try SQLiteFile(
                    path: path, format: Self.format, limits: StorageLimits(), logger: logger)
                let rows = try await file.read { try Int.fetchAll($0, sql: "SELECT x FROM one") }
                #expect(rows == [1])
                try file.close()
            }
            #expect(try tables(of: path) == ["grdb_migrations", "one", "three", "two"])
            #expect(
                handler.entries.map(\.message)
                    == ["A file of an earlier format was brought up to date."])
            #expect(
                handler.entries.first?.metadata == [
                    "path": "\(path)", "from": "\(number)", "to": "3",
                ])
        }
    }

    /// Expects that opening the file runs the remaining migrations.
    private func expectMigration(_ path: String) throws {
        try SQLiteFile(path: path, format: Self.format).close()
        #expect(try tables(of: path) == ["grdb_migrations", "one", "three", "two"])
    }

    /// Each migration is a transaction: the next opening continues after a failure.
    @Test func interruptedMigrationContinues() async throws {
        struct Interruption: Error {}
        try await withFile { path in
            var interrupted = Self.format
            interrupted.migrations[2] = .init("three") { _ in throw Interruption() }
            #expect(throws: Interruption.self) { try SQLiteFile(path: path, format: interrupted) }
            #expect(try tables(of: path) == ["grdb_migrations", "one", "two"])
            try expectMigration(path)
        }
    }

    /// The file of a process that ended between creating the migrator's table and the first migration.
    @Test func databaseWithOnlyAnEmptyMigrationTableIsMigrated() async throws {
        try await withFile { path in
            let queue = try DatabaseQueue(path: path)
            var migrator = DatabaseMigrator()
            migrator.registerMigration("one") { _ in throw CancellationError() }
            #expect(throws: CancellationError.self) { try migrator.migrate(queue) }
            try queue.close()
            chmod(path, 0o600)
            #expect(try tables(of: path) == ["grdb_migrations"])
            try expectMigration(path)
        }
    }

    @Test func migrationTableOfAnotherProgramIsRefused() async throws {
        try await withFile { path in
            let queue = try DatabaseQueue(path: path)
            var migrator = DatabaseMigrator()
            migrator.registerMigration("other") { _ in }
            try migrator.migrate(queue)
            try queue.close()
            chmod(path, 0o600)
            let error = #expect(throws: StorageError.self) {
                try SQLiteFile(path: path, format: Self.format)
            }
            #expect(error?.code == .unknownFormat)
        }
    }

    @Test func newerFormatIsRefusedWithAdvice() async throws {
        try await withFile { path in
            try SQLiteFile(path: path, format: Self.format).close()
            let error = #expect(throws: StorageError.self) {
                try SQLiteFile(path: path, format: Self.format.through(2))
            }
            #expect(error?.code == .unknownFormat)
            #expect(error?.path == path)
            #expect(
                error?.message == """
                    The file has format 3, and the newest that this version of Stratus knows is 2. \
                    Update Stratus.
                    """)
        }
    }

    @Test func databaseOfAnotherKindIsRefused() async throws {
        try await withFile { path in
            try makeFile(path, format: 3)
            var other = Self.format
            other.applicationID = 8
            let error = #expect(throws: StorageError.self) {
                try SQLiteFile(path: path, format: other)
            }
            #expect(error?.code == .unknownFormat)
            #expect(try tables(of: path) == ["one", "three", "two"])
        }
    }

    /// An earlier release leaves such a file: it has migrated it without a note in the migrator's table.
    @Test func formatNumberOverridesTheMigrationTable() async throws {
        try await withFile { path in
            try SQLiteFile(path: path, format: Self.format.through(1)).close()
            let queue = try DatabaseQueue(path: path)
            try queue.write { database in
                try database.execute(sql: "CREATE TABLE two (x)")
                try database.execute(sql: "PRAGMA user_version = 2")
            }
            try queue.close()
            try expectMigration(path)
        }
    }
}
