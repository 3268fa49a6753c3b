import GRDB
import StratusRecords

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

    func put(_ device: DeviceRow) async throws {
        try await database.write { database in
            try SQLStatement(
                database, "INSERT OR REPLACE INTO device VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            )
            .bind(1, device.pushToken)
            .bind(2, device.address.container)
            .bind(3, device.address.environment.rawValue)
            .bind(4, device.userRecordName)
            .bind(5, device.clientID)
            .bind(6, device.lastUsedMilliseconds)
            .bind(7, device.isRegistered ? 1 : 0)
            .bind(8, Int64(device.channel.rawValue))
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
            .bind(1, user)
            .bind(2, address.container)
            .bind(3, address.environment.rawValue)
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
            .bind(1, pushToken)
            .bind(2, address.container)
            .bind(3, address.environment.rawValue)
            .run()
        }
    }

    private static func device(_ row: SQLStatement) throws -> DeviceRow {
        guard let channel = DeviceRow.Channel(rawValue: Int(row.integer(7))) else {
            throw StorageError(.corrupt, "A device has a channel that this release does not know.")
        }
        return DeviceRow(
            pushToken: row.text(0), address: try address(row, container: 1, environment: 2),
            userRecordName: row.text(3), clientID: row.text(4),
            lastUsedMilliseconds: row.integer(5), isRegistered: row.integer(6) != 0,
            channel: channel)
    }
}
