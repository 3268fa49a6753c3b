import GRDB
import StratusSQLite

/// Identifies the database in a file. Stored in the file's table `history`.
struct FileIdentity: Hashable, Sendable {
    /// The database's path in the data folder, without the ending.
    var address: String
    /// Random, so that two files of one address differ.
    var identifier: UInt64
}

/// The identity and the number of commits that a file stores about itself.
struct FileStamp: Hashable, Sendable {
    var identity: FileIdentity
    /// How many commits the file has had, not counting migrations.
    var commits: UInt64

    static func read(from database: Database) throws -> FileStamp {
        let stamp = try SQLStatement(
            database, "SELECT identifier, address, commits FROM history"
        ).first { row in
            FileStamp(
                identity: FileIdentity(
                    address: row.text(1), identifier: UInt64(bitPattern: row.integer(0))),
                commits: UInt64(bitPattern: row.integer(2)))
        }
        guard let stamp else {
            throw StorageError(
                .corrupt, "The database has no history row. Restore it from a backup.")
        }
        return stamp
    }

    static func write(_ identity: FileIdentity, into database: Database) throws {
        try SQLStatement(database, "UPDATE history SET identifier = ?, address = ?")
            .bind(1, Int64(bitPattern: identity.identifier))
            .bind(2, identity.address)
            .run()
    }

    /// Counts the commit of the current transaction.
    ///
    /// - Returns: The number of commits, including this one.
    static func countCommit(in database: Database) throws -> UInt64? {
        // Two statements: RETURNING creates a table for its one row, which costs four times as much.
        let commits = try SQLStatement(database, "SELECT commits FROM history")
            .first { UInt64(bitPattern: $0.integer(0)) + 1 }
        guard let commits else { return nil }
        try SQLStatement(database, "UPDATE history SET commits = ?")
            .bind(1, Int64(bitPattern: commits))
            .run()
        return commits
    }
}

extension FileIdentity {
    /// The columns of a file's identity and its number of commits.
    static let columns = """
        identifier INTEGER NOT NULL DEFAULT 0,
        address TEXT NOT NULL DEFAULT '',
        commits INTEGER NOT NULL DEFAULT 0
        """

    /// Adds the columns to an existing table `history`.
    static let addColumns = columns.split(separator: ",\n")
        .map { "ALTER TABLE history ADD COLUMN \($0);" }
        .joined(separator: "\n")
}
