import GRDB
import GRDBSQLite
import StratusClient

/// Inserts the records of a page into their table as they were received.
///
/// Values are bound without boxing or copying, from memory that stays valid until the statement has run: a first fetch
/// may bind millions of values, and spends most of its time here.
struct FetchedRowWriter: ~Copyable {
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    private let zone: CachedZoneRow
    private let database: Database
    // The connection caches the statements, and GRDB binds its own values at the next use.
    private let finding: Statement
    private let inserting: Statement

    init(_ zone: CachedZoneRow, _ database: Database) throws {
        let finding = try database.cachedStatement(
            sql: "SELECT 1 FROM record WHERE zone = ? AND nameHash = ? AND name = ? LIMIT 1")
        let inserting = try database.cachedStatement(sql: CacheStore.insertSQL)
        self.zone = zone
        self.database = database
        self.finding = finding
        self.inserting = inserting
    }

    deinit {
        for statement in [finding, inserting] {
            sqlite3_clear_bindings(statement.sqliteStatement)
        }
    }

    /// - Returns: the key of the new row; nil, without a write, if there is a record of its name.
    /// - Throws: SQLite's error.
    func insert(_ row: FetchedRow) throws -> Int64? {
        var name = row.name
        return try name.withUTF8 { try insert(row, named: $0) }
    }

    private func insert(_ row: FetchedRow, named name: UnsafeBufferPointer<UInt8>) throws -> Int64?
    {
        // GRDB does not reset a statement after it has run, and SQLite cannot bind values to one that was not reset.
        for statement in [finding, inserting] { _ = sqlite3_reset(statement.sqliteStatement) }
        let find = finding.sqliteStatement
        try check(sqlite3_bind_int64(find, 1, zone.key), finding)
        try check(sqlite3_bind_int64(find, 2, row.nameHash), finding)
        try check(bind(name, find, 3), finding)
        guard try !step(finding) else { return nil }
        let insert = inserting.sqliteStatement
        try check(sqlite3_bind_int64(insert, 1, zone.key), inserting)
        try check(sqlite3_bind_int64(insert, 2, row.nameHash), inserting)
        try check(bind(name, insert, 3), inserting)
        var type = row.type
        try type.withUTF8 {
            try check(bind($0, insert, 4, Self.copied), inserting)
        }
        if var parent = row.parentRecordName {
            try parent.withUTF8 {
                try check(bind($0, insert, 6, Self.copied), inserting)
            }
        } else {
            try check(sqlite3_bind_null(insert, 6), inserting)
        }
        try check(sqlite3_bind_int64(insert, 8, zone.pass), inserting)
        try row.systemBytes.withUnsafeBytes { system in
            try check(bind(system, insert, 5), inserting)
            try row.fields.withUnsafeBytes { fields in
                try check(bind(fields, insert, 7), inserting)
                _ = try step(inserting)
            }
        }
        return sqlite3_last_insert_rowid(database.sqliteConnection)
    }

    private func bind(
        _ text: UnsafeBufferPointer<UInt8>, _ statement: SQLiteStatement, _ index: Int32,
        _ destructor: sqlite3_destructor_type? = nil
    ) -> Int32 {
        // An empty string may have no address, which SQLite would read as NULL.
        guard let address = text.baseAddress, !text.isEmpty else {
            return sqlite3_bind_text(statement, index, "", 0, Self.copied)
        }
        return address.withMemoryRebound(to: CChar.self, capacity: text.count) {
            sqlite3_bind_text(statement, index, $0, Int32(text.count), destructor)
        }
    }

    private func bind(
        _ bytes: UnsafeRawBufferPointer, _ statement: SQLiteStatement, _ index: Int32
    ) -> Int32 {
        guard let address = bytes.baseAddress, !bytes.isEmpty else {
            return sqlite3_bind_zeroblob(statement, index, 0)
        }
        return sqlite3_bind_blob64(statement, index, address, UInt64(bytes.count), nil)
    }

    /// - Returns: whether there is a row.
    private func step(_ statement: Statement) throws -> Bool {
        let code = sqlite3_step(statement.sqliteStatement)
        // Repeats the error of the step, which is thrown below.
        _ = sqlite3_reset(statement.sqliteStatement)
        guard code == SQLITE_ROW || code == SQLITE_DONE else {
            throw failure(code, statement)
        }
        return code == SQLITE_ROW
    }

    private func check(_ code: Int32, _ statement: Statement) throws {
        if code != SQLITE_OK { throw failure(code, statement) }
    }

    private func failure(_ code: Int32, _ statement: Statement) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: code),
            message: database.sqliteConnection.map { String(cString: sqlite3_errmsg($0)) },
            sql: statement.sql)
    }
}
