import GRDB

/// Reads and changes a cache's file from outside. Only the simulation uses this; it is here because ``CacheFlag`` and
/// the connection of ``MemoryCacheFile`` are internal to this module.
package enum StoredCacheFile {
    /// The value of a database's flag, such as `clockOffset`; nil if it is not set.
    package static func flag(
        _ name: String, ofDatabase scope: Int, inFileAt path: String
    ) throws -> String? {
        try CacheFormat.openWithoutMigrating(path).unsafeRead {
            try flag(name, ofDatabase: scope, $0)
        }
    }

    /// Whether a zone with records was fetched, so that its deletion can be distinguished from that of another zone.
    package static func isKnown(
        zone name: String, ofDatabase scope: Int, inFileAt path: String
    ) throws -> Bool {
        try CacheFormat.openWithoutMigrating(path).unsafeRead {
            try isKnown(zone: name, ofDatabase: scope, $0)
        }
    }

    /// The number of rows in each table; under `unanswered`, the rows of `flag` that name a request.
    package static func rowCounts(inFileAt path: String) throws -> [String: Int] {
        try CacheFormat.openWithoutMigrating(path).unsafeRead { try rowCounts($0) }
    }

    /// Changes the file without going through a cache, as a faulty release could have done.
    package static func execute(_ sql: String, inFileAt path: String) throws {
        try CacheFormat.openWithoutMigrating(path).write { try $0.execute(sql: sql) }
    }

    static func flag(
        _ name: String, ofDatabase scope: Int, _ database: Database
    ) throws -> String? {
        try CacheFlag.value(named: name, ofDatabase: scope, database)
    }

    static func rowCounts(_ database: Database) throws -> [String: Int] {
        let tables = try String.fetchAll(
            database.cachedStatement(
                sql: "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"))
        var counts: [String: Int] = [:]
        for table in tables {
            counts[table] = try Int.fetchOne(
                database.cachedStatement(sql: "SELECT count(*) FROM \(table)"))
        }
        counts["unanswered"] = try Int.fetchOne(
            database.cachedStatement(
                sql: "SELECT count(*) FROM flag WHERE name > 'unanswered/' AND name < 'unanswered0'"
            ))
        return counts
    }

    /// Whether a zone with records was fetched, so that its deletion can be distinguished from that of another zone.
    static func isKnown(zone name: String, ofDatabase scope: Int, _ database: Database) throws
        -> Bool
    {
        try Bool.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT EXISTS (
                        SELECT 1 FROM zone JOIN record ON record.zone = zone.id
                        WHERE database = ? AND zone.name = ? AND token <> '' AND EXISTS (
                            SELECT 1 FROM flag WHERE flag.database = zone.database
                            AND flag.name = 'generation/' || zone.id))
                    """), arguments: [scope, name]) ?? false
    }
}
