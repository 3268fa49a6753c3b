import StratusRecords
import StratusSQLite

extension SQLiteDirectory {
    func shortGUID(_ shortGUID: String) async throws -> ShortGUIDRow? {
        try await database.read { database in
            try SQLStatement(
                database,
                "SELECT container, environment, owner FROM short_guid WHERE short_guid = ?"
            )
            .bind(1, shortGUID)
            .first { row in
                ShortGUIDRow(
                    shortGUID: shortGUID,
                    address: try Self.address(row, container: 0, environment: 1),
                    owner: row.text(2))
            }
        }
    }

    func put(_ rows: [ShortGUIDRow]) async throws {
        try await database.write { database in
            for row in rows {
                try SQLStatement(database, "INSERT OR REPLACE INTO short_guid VALUES (?, ?, ?, ?)")
                    .bindAll(row.shortGUID, row.address, row.owner)
                    .run()
            }
        }
    }

    func deleteShortGUIDs(_ shortGUIDs: [String]) async throws {
        try await database.write { database in
            for shortGUID in shortGUIDs {
                try SQLStatement(database, "DELETE FROM short_guid WHERE short_guid = ?")
                    .bind(1, shortGUID)
                    .run()
            }
        }
    }
}
