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

    init(_ database: Database) {
        self.database = database
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

    var incarnation: Incarnation {
        get throws {
            let row = try statement(
                "SELECT incarnation_number, incarnation_identifier FROM history"
            ).first {
                Incarnation(number: $0.integer(0), identifier: UInt64(bitPattern: $0.integer(1)))
            }
            return try existing(row)
        }
    }

    var databaseVersion: Int64 {
        get throws {
            try existing(statement("SELECT version FROM history").first { $0.integer(0) })
        }
    }

    func renewIncarnation(_ incarnation: Incarnation) throws {
        try statement(
            "UPDATE history SET incarnation_number = ?, incarnation_identifier = ?"
        )
        .bind(1, incarnation.number)
        .bind(2, Int64(bitPattern: incarnation.identifier))
        .run()
    }

    /// Counts one change of the database.
    func takeDatabaseVersion() throws -> Int64 {
        try existing(
            statement("UPDATE history SET version = version + 1 RETURNING version")
                .first { $0.integer(0) })
    }

    private func existing<Value>(_ row: Value?) throws -> Value {
        guard let row else {
            throw StorageError(
                .corrupt, "The database has no history row. Restore it from a backup.")
        }
        return row
    }
}
