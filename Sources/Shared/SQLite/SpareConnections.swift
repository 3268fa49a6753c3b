import GRDB
import Synchronization

/// The connections of in-memory databases that are no longer used, kept for the next databases of the process: a
/// simulation's and a test's clouds.
///
/// Most of the cost of a new database is its connection, which prepares each statement once
/// (Documentation/Simulation.md). A spare one whose content was replaced by that of a new database behaves like a new
/// one; its statements are prepared.
package final class SpareConnections<Companion: Sendable>: Sendable {
    private struct Spare {
        var queue: DatabaseQueue
        var companion: Companion
    }

    /// How many are kept of each kind.
    private static var limit: Int { 24 }
    /// A database keeps the pages of deleted rows; a larger one is not kept, so that a test with much data does not
    /// leave its memory to the others.
    private static var greatestPageCount: Int { 1_024 }

    private let spares = Mutex<[String: [Spare]]>([:])

    package init() {}

    /// - Parameters:
    ///   - companion: what belongs to the connection.
    ///   - kind: databases of one kind have the same tables.
    package func give(_ queue: DatabaseQueue, _ companion: Companion, kind: String) {
        guard Self.isSmall(queue) else { return }
        spares.withLock { spares in
            guard spares[kind, default: []].count < Self.limit else { return }
            spares[kind, default: []].append(Spare(queue: queue, companion: companion))
        }
    }

    private static func isSmall(_ queue: DatabaseQueue) -> Bool {
        do {
            // Reentrant, since the last reference may be released while the connection is in use.
            let pageCount = try queue.unsafeReentrantRead { database in
                try Int.fetchOne(database.cachedStatement(sql: "PRAGMA page_count"))
            }
            return pageCount ?? .max <= greatestPageCount
        } catch {
            // A connection that cannot be read is not worth keeping, and a new one reports why.
            return false
        }
    }

    /// A connection of a kind with a new database's content; nil if none is left.
    ///
    /// - Throws: SQLite's error.
    package func take(
        kind: String, as new: NewDatabase
    ) throws -> (queue: DatabaseQueue, companion: Companion)? {
        while let spare = takeUnused(kind) {
            let isAsNew = try spare.queue.inDatabase { database in
                var isAsNew = false
                try database.inTransaction {
                    isAsNew = try new.replace(database)
                    return .commit
                }
                return isAsNew
            }
            if isAsNew { return (spare.queue, spare.companion) }
        }
        return nil
    }

    /// The last one that nothing else refers to.
    private func takeUnused(_ kind: String) -> Spare? {
        spares.withLock { spares in
            // Removed from the dictionary: a copy of the array would also refer to them.
            var kept = spares.removeValue(forKey: kind) ?? []
            defer { spares[kind] = kept }
            for place in kept.indices.reversed()
            where isKnownUniquelyReferenced(&kept[place].queue) {
                return kept.remove(at: place)
            }
            return nil
        }
    }
}

/// The content of a database that was never used.
package struct NewDatabase: Sendable {
    private var schema: Set<String>
    private var rows: [(table: String, values: [DatabaseValue])] = []

    private static let tables =
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'grdb_migrations' ORDER BY name"

    /// - Parameter template: an unused database.
    package init(_ template: DatabaseQueue) throws {
        let (schema, rows) = try template.inDatabase { database in
            var rows: [(table: String, values: [DatabaseValue])] = []
            for table in try String.fetchAll(database.cachedStatement(sql: Self.tables)) {
                let statement = try database.cachedStatement(sql: "SELECT * FROM \"\(table)\"")
                for row in try Row.fetchAll(statement) {
                    rows.append((table, Array(row.databaseValues)))
                }
            }
            return (try Self.schema(of: database), rows)
        }
        self.schema = schema
        self.rows = rows
    }

    private static func schema(of database: Database) throws -> Set<String> {
        let statement = try database.cachedStatement(
            sql: "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema")
        return try String.fetchSet(statement)
    }

    /// Replaces the content of a database by this one.
    ///
    /// - Returns: false if the tables were changed other than by adding some; the content is then undefined.
    fileprivate func replace(_ database: Database) throws -> Bool {
        let found = try Self.schema(of: database)
        guard found.isSuperset(of: schema),
            !found.subtracting(schema).contains(where: { $0.hasPrefix("trigger ") })
        else { return false }
        let tables = try String.fetchAll(database.cachedStatement(sql: Self.tables))
        guard try empty(tables, database) else { return false }
        for (table, values) in rows {
            let places = Array(repeating: "?", count: values.count).joined(separator: ", ")
            try database.cachedStatement(sql: "INSERT INTO \"\(table)\" VALUES (\(places))")
                .execute(arguments: StatementArguments(values))
        }
        return true
    }

    private func empty(_ tables: [String], _ database: Database) throws -> Bool {
        // Rows that a trigger writes are deleted the next time.
        for _ in 0..<3 {
            for table in tables {
                try database.cachedStatement(sql: "DELETE FROM \"\(table)\"").execute()
            }
            let isEmpty = try tables.allSatisfy { table in
                try Bool.fetchOne(
                    database.cachedStatement(
                        sql: "SELECT NOT EXISTS (SELECT 1 FROM \"\(table)\")")) == true
            }
            if isEmpty { return true }
        }
        return false
    }
}
