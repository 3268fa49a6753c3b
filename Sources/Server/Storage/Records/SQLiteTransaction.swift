import GRDB

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
        if let putRecord { return putRecord }
        let statement = try statement(sql)
        putRecord = statement
        return statement
    }

    func recordByNameStatement(_ sql: String) throws -> SQLStatement {
        if let recordByName { return recordByName }
        let statement = try statement(sql)
        recordByName = statement
        return statement
    }

    func putEntryStatement(_ sql: String) throws -> SQLStatement {
        if let putEntry { return putEntry }
        let statement = try statement(sql)
        putEntry = statement
        return statement
    }

    func deleteEntryStatement(_ sql: String) throws -> SQLStatement {
        if let deleteEntry { return deleteEntry }
        let statement = try statement(sql)
        deleteEntry = statement
        return statement
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
