import GRDB
import StratusRecords

/// Remembers which requests were sent and not answered. One that the network kept may still arrive, after this device has
/// fetched what the service has and decided by it: it would bring back a record that was deleted since, or delete a zone
/// that was made anew. So it is cancelled first.
///
/// A row of the table of flags for each, whose value has the owners of the zones that it named.
extension CacheStore {
    private static let flagPrefix = "unanswered/"

    /// Notes that an operation's request is about to be sent.
    ///
    /// - Parameter zones: those that it names.
    func noteOperation(_ id: String, of zones: Set<ZoneID>, _ database: Database) throws {
        let owners = scope == .shared ? Set(zones.map(\.ownerName)).sorted() : []
        try database.cachedStatement(
            sql: "INSERT OR REPLACE INTO flag (database, name, value) VALUES (?, ?, ?)"
        ).execute(
            arguments: [
                scope.rawValue, Self.flagPrefix + id, owners.joined(separator: "\n"),
            ])
    }

    func noteOperation(_ id: String, of zones: Set<ZoneID>) throws {
        try file.write { try noteOperation(id, of: zones, $0) }
    }

    /// Notes that an operation was answered, or cancelled: no request of it changes anything any more.
    func endOperation(_ id: String, _ database: Database) throws {
        try database.cachedStatement(sql: "DELETE FROM flag WHERE database = ? AND name = ?")
            .execute(arguments: [scope.rawValue, Self.flagPrefix + id])
    }

    func endOperations(_ operations: [UnansweredOperation]) throws {
        try file.write { database in
            for operation in operations { try endOperation(operation.id, database) }
        }
    }

    /// The operations that were sent and not answered, some of them if there are many.
    func unansweredOperations() throws -> [UnansweredOperation] {
        try read { database in
            let rows = try Row.fetchAll(
                database.cachedStatement(
                    sql: """
                        SELECT name, value FROM flag
                        WHERE database = ? AND name > ? AND name < ? ORDER BY name LIMIT 100
                        """),
                arguments: [scope.rawValue, Self.flagPrefix, "unanswered0"])
            return try rows.map { row in
                let name: String = try row.decode(atIndex: 0)
                let owners: String? = try row.decode(atIndex: 1)
                return UnansweredOperation(
                    id: String(name.dropFirst(Self.flagPrefix.count)),
                    zoneOwners: (owners ?? "").split(separator: "\n").map(String.init))
            }
        }
    }
}
