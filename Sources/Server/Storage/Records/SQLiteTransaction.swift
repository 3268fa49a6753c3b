import GRDB
import StratusSQLite

/// A transaction of a database.
///
/// It throws GRDB's errors; ``SQLiteFile`` and ``SQLiteMemory`` translate them.
final class SQLiteTransaction: RecordTransaction {
    let database: Database
    /// Statements that run for each record; looked up once per transaction.
    private var putRecord: SQLStatement?
    private var recordByName: SQLStatement?
    private var putEntry: SQLStatement?
    private var deleteEntry: SQLStatement?

    /// The epoch in which this process writes the database; nil if it only reads.
    let writing: WritingEpoch?
    /// The epoch of what this transaction writes, once it has taken a version.
    var writtenEpoch: Epoch?
    /// The last version of the database that this transaction took.
    private(set) var takenVersion: Int64?

    init(_ database: Database, writing: WritingEpoch? = nil) {
        self.database = database
        self.writing = writing
    }

    func statement(_ sql: String) throws -> SQLStatement {
        try SQLStatement(database, sql)
    }

    func putRecordStatement(_ sql: String) throws -> SQLStatement {
        try statement(sql, in: &putRecord)
    }

    func recordByNameStatement(_ sql: String) throws -> SQLStatement {
        try statement(sql, in: &recordByName)
    }

    func putEntryStatement(_ sql: String) throws -> SQLStatement {
        try statement(sql, in: &putEntry)
    }

    func deleteEntryStatement(_ sql: String) throws -> SQLStatement {
        try statement(sql, in: &deleteEntry)
    }

    private func statement(_ sql: String, in kept: inout SQLStatement?) throws -> SQLStatement {
        if let kept { return kept }
        let statement = try statement(sql)
        kept = statement
        return statement
    }

    /// The rows of zones that changed after a version of the database, the earliest change first.
    func rows(
        _ columns: String, of table: String, changedAfter databaseVersion: Int64, limit: Int
    ) throws -> SQLStatement {
        try statement(
            """
            SELECT \(columns) FROM \(table) WHERE changed_at_database_version > ?
            ORDER BY changed_at_database_version LIMIT ?
            """
        )
        .bind(1, databaseVersion)
        .bind(2, Int64(max(limit, 1)))
    }

    // MARK: History

    var databaseVersion: Int64 {
        get throws {
            try existing(statement("SELECT version FROM history").first { $0.integer(0) })
        }
    }

    /// Counts one change of the database.
    ///
    /// The first one of a transaction makes sure that the epoch is one of this process.
    func takeDatabaseVersion() throws -> Int64 {
        // Without RETURNING, which creates a table for its one row.
        let (version, found) = try existing(
            statement("SELECT version + 1, epoch_number, epoch_identifier FROM history")
                .first { ($0.integer(0), Self.epoch($0, at: 1)) })
        try statement("UPDATE history SET version = ?").bind(1, version).run()
        if writtenEpoch == nil { try enterEpoch(after: found, at: version - 1) }
        takenVersion = version
        return version
    }

    func existing<Value>(_ row: Value?) throws -> Value {
        guard let row else {
            throw StorageError(
                .corrupt, "The database has no history row. Restore it from a backup.")
        }
        return row
    }
}
