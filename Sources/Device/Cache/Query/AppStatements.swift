import GRDB
import Synchronization

/// Restricts an app's own SQL to its own tables, whose names begin with `app_`.
///
/// Before every statement GRDB asks this observer which kinds of writes to report. So it also learns of the writes of
/// triggers, and of writes to tables for which SQLite reports no rows.
final class AppStatements: TransactionObserver, Sendable {
    static let prefix = "app_"

    private struct State {
        var isActive = false
        var refusedTable: String?
    }

    private let state = Mutex(State())

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool {
        state.withLock { state in
            let table = kind.tableName
            if state.isActive, !Self.isOfApp(table), !table.hasPrefix("sqlite_") {
                state.refusedTable = table
            }
        }
        return false
    }

    func databaseDidChange(with event: DatabaseEvent) {}
    func databaseDidCommit(_ database: Database) {}
    func databaseDidRollback(_ database: Database) {}

    private static func isOfApp(_ table: String) -> Bool {
        table.lowercased().hasPrefix(prefix)
    }

    /// Runs a body in which the app may write its own tables, and checks what it wrote.
    ///
    /// - Throws: ``CacheError`` `reservedTable`; then the transaction must be rolled back.
    func run<Value>(_ database: Database, _ body: () throws -> Value) throws -> Value {
        let before = try Schema(database)
        state.withLock { $0 = State(isActive: true) }
        defer { state.withLock { $0 = State() } }
        let value = try body()
        if let table = state.withLock({ $0.refusedTable }) { throw Self.error(table) }
        try before.check(database)
        return value
    }

    /// Runs a body in which the cache writes its own tables, within ``run(_:_:)``.
    func pause<Value>(_ body: () throws -> Value) throws -> Value {
        state.withLock { $0.isActive = false }
        defer { state.withLock { $0.isActive = true } }
        return try body()
    }

    private static func error(_ table: String) -> CacheError {
        CacheError(
            .reservedTable,
            "The transaction changed \(table), which belongs to the cache, so nothing was written. Write only to tables whose names begin with app_.",
            cause: ReservedTable(name: table))
    }

    /// The parts of the file, besides rows, that an app may not change.
    private struct Schema {
        private var version: Int
        private var marks: [Int]
        private var ours: [Row]

        init(_ database: Database) throws {
            version = try Self.number("schema_version", database)
            marks = try Self.marks(database)
            ours = try Self.ours(database)
        }

        func check(_ database: Database) throws {
            guard try Self.marks(database) == marks else {
                throw AppStatements.error("sqlite_schema")
            }
            guard try Self.number("schema_version", database) != version else { return }
            let now = try Self.ours(database)
            if let other = now.first(where: { !ours.contains($0) })
                ?? ours.first(where: { !now.contains($0) })
            {
                throw AppStatements.error(try other.decode(String?.self, atIndex: 0) ?? "")
            }
            // A foreign key to a record's row would prevent its deletion.
            let referred = try String.fetchOne(
                database,
                sql: """
                    SELECT key."table" FROM sqlite_schema AS own, pragma_foreign_key_list(own.name) AS key
                    WHERE own.type = 'table' AND own.name LIKE 'app\\_%' ESCAPE '\\'
                        AND key."table" NOT LIKE 'app\\_%' ESCAPE '\\'
                    """)
            if let referred { throw AppStatements.error(referred) }
        }

        private static func number(_ pragma: String, _ database: Database) throws -> Int {
            try Int.fetchOne(database, sql: "PRAGMA \(pragma)") ?? 0
        }

        private static func marks(_ database: Database) throws -> [Int] {
            [try number("user_version", database), try number("application_id", database)]
        }

        private static func ours(_ database: Database) throws -> [Row] {
            try Row.fetchAll(
                database,
                sql: """
                    SELECT name, sql FROM sqlite_schema
                    WHERE (tbl_name NOT LIKE 'app\\_%' ESCAPE '\\' OR type = 'trigger'
                            AND name NOT LIKE 'app\\_%' ESCAPE '\\')
                        AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                    """)
        }
    }
}

/// A write to a table that the app may not write.
struct ReservedTable: Error, CustomStringConvertible {
    var name: String
    var description: String { "The table \(name) belongs to the cache." }
}
