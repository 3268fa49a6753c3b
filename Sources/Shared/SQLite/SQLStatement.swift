import GRDB
import GRDBSQLite

/// A prepared statement of one connection.
///
/// Values are passed to and from SQLite without boxes and without `Data`: a record has seventeen of them, and a page of
/// records spends most of its time here. GRDB owns the statement and the connection. A text is run either by
/// this type or by GRDB's own functions, not by both: GRDB does not reset a statement that it has run.
package struct SQLStatement {
    /// Makes SQLite copy the bound value; the constant is a cast in C that Swift cannot import.
    @usableFromInline static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    @usableFromInline let statement: Statement
    @usableFromInline let handle: OpaquePointer

    /// Finds the statement in the connection's cache or prepares it.
    @inlinable
    package init(_ database: Database, _ sql: String) throws {
        statement = try database.cachedStatement(sql: sql)
        handle = statement.sqliteStatement
    }

    // MARK: Binding, by number from 1

    @inlinable @discardableResult
    package func bind(_ index: Int32, _ value: Int64) throws -> Self {
        try check(sqlite3_bind_int64(handle, index, value))
        return self
    }

    @inlinable @discardableResult
    package func bind(_ index: Int32, _ value: String) throws -> Self {
        var value = value
        try value.withUTF8 { bytes in
            try bytes.withMemoryRebound(to: CChar.self) { characters in
                // An empty string may have no address, which SQLite would bind as NULL.
                let code =
                    if let address = characters.baseAddress {
                        sqlite3_bind_text(
                            handle, index, address, Int32(characters.count), Self.copied)
                    } else {
                        sqlite3_bind_text(handle, index, "", 0, Self.copied)
                    }
                try check(code)
            }
        }
        return self
    }

    @inlinable @discardableResult
    package func bind(_ index: Int32, _ value: String?) throws -> Self {
        if let value { return try bind(index, value) }
        try check(sqlite3_bind_null(handle, index))
        return self
    }

    @inlinable @discardableResult
    package func bind(_ index: Int32, _ value: [UInt8]) throws -> Self {
        try value.withUnsafeBytes { bytes in
            let code =
                if let address = bytes.baseAddress, !bytes.isEmpty {
                    sqlite3_bind_blob64(handle, index, address, UInt64(bytes.count), Self.copied)
                } else {
                    sqlite3_bind_zeroblob(handle, index, 0)
                }
            try check(code)
        }
        return self
    }

    // MARK: Running

    /// Runs the statement to completion.
    @inlinable
    package func run() throws {
        defer { reset() }
        while try step() {}
    }

    /// Reads the first row, if there is one.
    @inlinable
    package func first<Value>(_ body: (SQLStatement) throws -> Value) throws -> Value? {
        defer { reset() }
        return try step() ? body(self) : nil
    }

    /// Reads rows until `body` returns false.
    @inlinable
    package func rows(_ body: (SQLStatement) throws -> Bool) throws {
        defer { reset() }
        while try step(), try body(self) {}
    }

    /// Reads all rows.
    @inlinable
    package func all<Value>(_ body: (SQLStatement) throws -> Value) throws -> [Value] {
        var values: [Value] = []
        try rows {
            values.append(try body($0))
            return true
        }
        return values
    }

    @inlinable func step() throws -> Bool {
        switch sqlite3_step(handle) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw failure(code)
        }
    }

    @inlinable func reset() {
        // The code repeats the error of the last step, which has been thrown already.
        _ = sqlite3_reset(handle)
    }

    @inlinable func check(_ code: Int32) throws {
        if code != SQLITE_OK { throw failure(code) }
    }

    @usableFromInline func failure(_ code: Int32) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: code),
            message: sqlite3_db_handle(handle).map { String(cString: sqlite3_errmsg($0)) },
            sql: statement.sql)
    }

    // MARK: Columns of the current row, by number from 0

    @inlinable
    package func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    @inlinable
    package func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_NULL
    }

    @inlinable
    package func isInteger(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_INTEGER
    }

    @inlinable
    package func isText(_ column: Int32) -> Bool {
        sqlite3_column_type(handle, column) == SQLITE_TEXT
    }

    @inlinable
    package func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    @inlinable
    package func text(_ column: Int32) -> String {
        String(decoding: textBytes(column), as: UTF8.self)
    }

    /// A text in SQLite's memory, valid until the next step.
    @inlinable
    package func textBytes(_ column: Int32) -> UnsafeRawBufferPointer {
        // The order matters: reading the text fixes the length.
        let address = sqlite3_column_text(handle, column)
        let count = address == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
        return UnsafeRawBufferPointer(start: address, count: count)
    }

    /// Bytes in SQLite's memory, valid until the next step.
    @inlinable
    package func rawBytes(_ column: Int32) -> UnsafeRawBufferPointer {
        let address = sqlite3_column_blob(handle, column)
        let count = address == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
        return UnsafeRawBufferPointer(start: address, count: count)
    }
}
