import GRDB
import StratusRecords
import StratusSQLite

/// The directory in its own database.
struct SQLiteDirectory: Directory {
    let database: any OpenDatabase

    func signingKey() async throws -> [UInt8] {
        let key = try await database.read { database in
            try SQLStatement(database, "SELECT value FROM setting WHERE name = 'signing_key'")
                .first { $0.bytes(0) }
        }
        guard let key else {
            throw StorageError(
                .corrupt, "The directory has no signing key. Restore it from a backup.",
                path: database.path)
        }
        return key
    }

    /// SQLite's `data_version` on the writing connection, which that connection's own commits do not change.
    func changesByOthers() async throws -> Int64 {
        try await database.write { database in
            try SQLStatement(database, "PRAGMA data_version").first { $0.integer(0) } ?? 0
        }
    }

    // MARK: Containers

    func container(_ address: ContainerAddress) async throws -> Bool {
        try await database.read { database in
            try SQLStatement(
                database, "SELECT 1 FROM container WHERE container = ? AND environment = ?"
            )
            .bindAll(address)
            .first { _ in true } ?? false
        }
    }

    func createContainer(_ address: ContainerAddress) async throws {
        try await database.write { database in
            try SQLStatement(database, "INSERT OR IGNORE INTO container VALUES (?, ?)")
                .bindAll(address)
                .run()
        }
    }

    func deleteContainer(_ address: ContainerAddress) async throws {
        try await database.write { database in
            func delete(_ sentence: String) throws {
                try SQLStatement(database, sentence)
                    .bindAll(address)
                    .run()
            }
            // The users under whose names its servers wrote have no other use.
            try delete(
                """
                DELETE FROM user WHERE record_name IN (
                    SELECT user FROM server_key WHERE container = ? AND environment = ?)
                """)
            for table in [
                "server_key", "api_token", "session", "device", "discoverable", "role_member",
                "schema_grant", "schema_role", "schema_state", "schema_field", "short_guid",
                "container",
            ] {
                try delete("DELETE FROM \(table) WHERE container = ? AND environment = ?")
            }
        }
    }

    static func address(
        _ row: SQLStatement, container: Int32, environment: Int32
    ) throws -> ContainerAddress {
        guard let known = ContainerEnvironment(rawValue: row.text(environment)) else {
            throw StorageError(
                .corrupt,
                "The directory names the unknown environment '\(row.text(environment))'. Restore it "
                    + "from a backup.")
        }
        return ContainerAddress(container: row.text(container), environment: known)
    }
}
