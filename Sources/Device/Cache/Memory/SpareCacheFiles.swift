import GRDB
import StratusSQLite
import Synchronization

/// The connections of files in memory that nobody has any more, for the next files of a simulation.
///
/// What a new file costs is its connection, which prepares each statement once: a quarter of a world's time. An emptied
/// database answers as a new one does; its statements are prepared.
package final class SpareCacheFiles: Sendable {
    private struct Spare {
        var queue: DatabaseQueue
        var appStatements: [AppStatements]
    }

    /// How many are kept of each kind.
    private static let limit = 24

    private let spares = Mutex<[String: [Spare]]>([:])
    /// What every file has from its beginning.
    private static let schema = Result { try MemoryCacheFile.template.get().read(schema(of:)) }

    package init() {}

    func give(_ queue: DatabaseQueue, _ appStatements: [AppStatements], _ kind: String) {
        spares.withLock { spares in
            guard spares[kind, default: []].count < Self.limit else { return }
            spares[kind, default: []].append(Spare(queue: queue, appStatements: appStatements))
        }
    }

    /// An emptied database of a kind; nil where none is left.
    ///
    /// - Throws: SQLite's error.
    func take(_ kind: String) throws -> DatabaseQueue? {
        while let spare = takeUnused(kind) {
            for observer in spare.appStatements {
                spare.queue.remove(transactionObserver: observer)
            }
            if try spare.queue.write(Self.empty) { return spare.queue }
        }
        return nil
    }

    /// The last one that nobody else has.
    private func takeUnused(_ kind: String) -> Spare? {
        spares.withLock { spares in
            // Taken out: a copy would have them too.
            var kept = spares.removeValue(forKey: kind) ?? []
            defer { spares[kind] = kept }
            for place in kept.indices.reversed()
            where isKnownUniquelyReferenced(&kept[place].queue) {
                return kept.remove(at: place)
            }
            return nil
        }
    }

    private static func schema(of database: Database) throws -> Set<String> {
        let statement = try database.cachedStatement(
            sql: "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_schema")
        return try String.fetchSet(statement)
    }

    /// - Returns: whether it is as a new one; not where somebody changed the tables behind the cache's back.
    private static func empty(_ database: Database) throws -> Bool {
        let (known, found) = (try schema.get(), try schema(of: database))
        guard found.isSuperset(of: known),
            !found.subtracting(known).contains(where: { $0.hasPrefix("trigger ") })
        else { return false }
        let tables = try String.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT name FROM sqlite_schema
                    WHERE type = 'table' AND name <> 'grdb_migrations' ORDER BY name
                    """))
        // What a trigger writes goes the second time.
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
