import GRDB
import StratusClient
import StratusRecords

/// Checks the invariants of a file.
extension CacheInspection {
    /// One sentence for each violated invariant. Reads the whole file.
    package func violations() throws -> [String] {
        var found: [String] = []
        let integrity = try String.fetchAll(database, sql: "PRAGMA integrity_check(100)")
        if integrity != ["ok"] { found += integrity.map { "SQLite: \($0)" } }
        for (sentence, sql) in Self.rules {
            let names = try String.fetchAll(database, sql: sql + " LIMIT 100")
            found += names.map { "\(sentence): \($0)" }
        }
        found += try unreadableRows()
        return found
    }

    /// Each violation, with a query for the names of the rows that have it.
    private static let rules: [(String, String)] = [
        (
            "A record belongs to no zone",
            "SELECT name FROM record WHERE zone NOT IN (SELECT id FROM zone)"
        ),
        (
            "A record cannot be found, because the hash of its name is wrong",
            "SELECT name FROM record WHERE nameHash <> stratus_name_hash(name)"
        ),
        (
            "A zone has two records with the same name",
            "SELECT name FROM record GROUP BY zone, nameHash, name HAVING count(*) > 1"
        ),
        (
            "A pending change belongs to no zone",
            "SELECT name FROM pending WHERE zone NOT IN (SELECT id FROM zone)"
        ),
        (
            "A save is pending for a record that is not here",
            """
            SELECT name FROM pending WHERE kind = 0 AND NOT EXISTS (
                SELECT 1 FROM record WHERE \(CacheFormat.isOfPending))
            """
        ),
        (
            "A record that is to be deleted is still here",
            """
            SELECT name FROM pending WHERE kind = 1 AND EXISTS (
                SELECT 1 FROM record WHERE \(CacheFormat.isOfPending))
            """
        ),
        (
            "The service does not have a record, and no pending change will send it",
            """
            SELECT name FROM record WHERE system IS NULL AND NOT EXISTS (
                SELECT 1 FROM pending
                WHERE pending.zone = record.zone AND pending.name = record.name)
            """
        ),
        (
            "A zone that is to be deleted has records",
            """
            SELECT zone.name FROM zone WHERE state = 2
                AND EXISTS (SELECT 1 FROM record WHERE record.zone = zone.id)
            """
        ),
        (
            "A pending change has a number that was not assigned yet",
            """
            SELECT name FROM pending
            WHERE sequence > (SELECT seq FROM sqlite_sequence WHERE name = 'pending')
            """
        ),
        (
            "A database is neither private nor shared",
            "SELECT name FROM zone WHERE database NOT IN (2, 3)"
        ),
    ]

    private func unreadableRows() throws -> [String] {
        var found: [String] = []
        let columns = [
            ("record", "name, system, fields"), ("pending", "name, baseSystem, baseFields"),
        ]
        for (table, names) in columns {
            let rows = try Row.fetchCursor(database, sql: "SELECT \(names) FROM \(table)")
            while found.count < 100, let row = try rows.next() {
                do {
                    try row.withUnsafeData(atIndex: 1) { data in
                        _ = try data?.withUnsafeBytes { try StoredSystem.decode($0) }
                    }
                    try row.withUnsafeData(atIndex: 2) { data in
                        _ = try data?.withUnsafeBytes { try StoredFields.decode($0) }
                    }
                } catch {
                    let name = try row.decode(String?.self, atIndex: 0) ?? "without a name"
                    found.append("A row of \(table) cannot be read: \(name): \(error)")
                }
            }
        }
        return found
    }
}
