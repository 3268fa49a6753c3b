import Foundation
import GRDBSQLite

/// The rows of a cache's file, put into another file as fast as SQLite takes them: the same table and indexes, the
/// same settings, each transaction waited for, and nothing else.
struct RawRows {
    private static let schema = """
        PRAGMA journal_mode = WAL;
        PRAGMA synchronous = FULL;
        PRAGMA cache_size = -32000;
        PRAGMA wal_autocheckpoint = 16000;
        CREATE TABLE record (
            id INTEGER PRIMARY KEY, zone INTEGER NOT NULL, nameHash INTEGER NOT NULL, name TEXT NOT NULL,
            type TEXT NOT NULL, system BLOB, parent TEXT, fields BLOB NOT NULL, pass INTEGER NOT NULL);
        CREATE INDEX recordByName ON record (zone, nameHash);
        CREATE INDEX recordByType ON record (zone, type);
        """
    private static let columns: Int32 = 8

    /// - Returns: rows a second.
    static func rate(of path: String, rowsPerTransaction: Int) throws -> Double {
        let copy = path + "-raw"
        defer { for suffix in ["", "-wal", "-shm"] { unlink(copy + suffix) } }
        let (source, target) = (try open(path), try open(copy))
        defer {
            sqlite3_close(source)
            sqlite3_close(target)
        }
        try run(target, schema)
        let rows = try prepare(
            source,
            "SELECT zone, nameHash, name, type, system, parent, fields, pass FROM record ORDER BY id"
        )
        let insert = try prepare(
            target,
            "INSERT INTO record (zone, nameHash, name, type, system, parent, fields, pass)"
                + " VALUES (?, ?, ?, ?, ?, ?, ?, ?)")
        defer {
            sqlite3_finalize(rows)
            sqlite3_finalize(insert)
        }
        var (count, duration) = (0, Duration.zero)
        // Whether the last row was read; another step would start again.
        var isAtEnd = false
        while !isAtEnd {
            var values: [OpaquePointer?] = []
            while values.count < rowsPerTransaction * Int(columns) {
                isAtEnd = sqlite3_step(rows) != SQLITE_ROW
                if isAtEnd { break }
                for column in 0..<columns {
                    values.append(sqlite3_value_dup(sqlite3_column_value(rows, column)))
                }
            }
            // In the order of the index of names, as in the cache.
            let starts = stride(from: 0, to: values.count, by: Int(columns))
                .map { (sqlite3_value_int64(values[$0 + 1]), $0) }.sorted { $0 < $1 }
            let begun = ContinuousClock.now
            try run(target, "BEGIN IMMEDIATE")
            for (_, start) in starts {
                for column in 0..<columns {
                    sqlite3_bind_value(insert, column + 1, values[start + Int(column)])
                }
                guard sqlite3_step(insert) == SQLITE_DONE else { throw failure(target) }
                sqlite3_reset(insert)
            }
            try run(target, "COMMIT")
            duration += ContinuousClock.now - begun
            count += values.count / Int(columns)
            for value in values { sqlite3_value_free(value) }
        }
        return Double(count) / (duration / .seconds(1))
    }

    private static func open(_ path: String) throws -> OpaquePointer? {
        var connection: OpaquePointer?
        guard sqlite3_open(path, &connection) == SQLITE_OK else { throw failure(connection) }
        return connection
    }

    private static func prepare(_ connection: OpaquePointer?, _ sql: String) throws
        -> OpaquePointer?
    {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(connection, sql, -1, &statement, nil) == SQLITE_OK else {
            throw failure(connection)
        }
        return statement
    }

    private static func run(_ connection: OpaquePointer?, _ sql: String) throws {
        guard sqlite3_exec(connection, sql, nil, nil, nil) == SQLITE_OK else {
            throw failure(connection)
        }
    }

    private static func failure(_ connection: OpaquePointer?) -> any Error {
        NSError(
            domain: "SQLite", code: Int(sqlite3_errcode(connection)),
            userInfo: [
                NSLocalizedDescriptionKey: String(cString: sqlite3_errmsg(connection))
            ])
    }
}
