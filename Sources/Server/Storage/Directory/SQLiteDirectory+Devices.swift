import GRDB
import StratusRecords
import StratusSQLite

extension SQLiteDirectory {
    private static let deviceColumns = """
        push_token, container, environment, user, client_id, last_used_ms, is_registered, channel
        """

    func devices(pushToken: String) async throws -> [DeviceRow] {
        try await rows(
            """
            SELECT \(Self.deviceColumns) FROM device WHERE push_token = ?
            ORDER BY container, environment
            """, binding: pushToken, Self.device)
    }

    func put(_ device: DeviceRow, ofSession session: String?) async throws -> Bool {
        try await database.write { database in
            if let session {
                let isThere = try SQLStatement(
                    database, "SELECT 1 FROM session WHERE identifier = ?"
                )
                .bind(1, session)
                .first { _ in true }
                guard isThere != nil else { return false }
            }
            try SQLStatement(
                database, "INSERT OR REPLACE INTO device VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            )
            .bindAll(
                device.pushToken, device.address, device.userRecordName, device.clientID,
                device.lastUsedMilliseconds, device.isRegistered, Int64(device.channel.rawValue)
            )
            .run()
            return true
        }
    }

    func renewDevice(
        pushToken: String, in address: ContainerAddress, atMilliseconds milliseconds: Int64
    ) async throws {
        try await database.write { database in
            try SQLStatement(
                database,
                """
                UPDATE device SET last_used_ms = ?
                WHERE push_token = ? AND container = ? AND environment = ?
                """
            )
            .bindAll(milliseconds, pushToken, address)
            .run()
        }
    }

    func devices(of user: String, in address: ContainerAddress) async throws -> [DeviceRow] {
        try await database.read { database in
            try SQLStatement(
                database,
                """
                SELECT \(Self.deviceColumns) FROM device
                WHERE user = ? AND container = ? AND environment = ?
                ORDER BY last_used_ms, push_token
                """
            )
            .bindAll(user, address)
            .all(Self.device)
        }
    }

    func deleteDevice(pushToken: String, in address: ContainerAddress?) async throws {
        try await database.write { database in
            guard let address else {
                return try SQLStatement(database, "DELETE FROM device WHERE push_token = ?")
                    .bind(1, pushToken)
                    .run()
            }
            try SQLStatement(
                database,
                "DELETE FROM device WHERE push_token = ? AND container = ? AND environment = ?"
            )
            .bindAll(pushToken, address)
            .run()
        }
    }

    private static func device(_ row: SQLStatement) throws -> DeviceRow {
        guard let channel = DeviceRow.Channel(rawValue: Int(row.integer(7))) else {
            throw StorageError(
                .corrupt,
                "A device in the directory has the unknown channel \(row.integer(7)). Update Stratus, "
                    + "or restore the directory from a backup.")
        }
        return DeviceRow(
            pushToken: row.text(0), address: try address(row, container: 1, environment: 2),
            userRecordName: row.text(3), clientID: row.text(4),
            lastUsedMilliseconds: row.integer(5), isRegistered: row.integer(6) != 0,
            channel: channel)
    }
}
