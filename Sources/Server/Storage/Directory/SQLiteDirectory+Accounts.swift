import GRDB
import StratusRecords
import StratusSQLite

extension SQLiteDirectory {
    // MARK: Containers and API tokens

    func containers() async throws -> [ContainerAddress] {
        try await database.read { database in
            try SQLStatement(
                database,
                "SELECT container, environment FROM container ORDER BY container, environment"
            ).all { try Self.address($0, container: 0, environment: 1) }
        }
    }

    private static let apiTokenTable = KeyedTable<APITokenRow>(
        name: "api_token", key: "token", order: "created_ms, token",
        columns: "token, container, environment, name, allowed_origins, callback_url, created_ms",
        row: apiToken)

    func apiToken(_ token: String) async throws -> APITokenRow? {
        try await row(token, of: Self.apiTokenTable)
    }

    func put(_ token: APITokenRow) async throws {
        try await database.write { database in
            try SQLStatement(
                database,
                """
                INSERT OR REPLACE INTO api_token (\(Self.apiTokenTable.columns))
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """
            )
            .bindAll(
                token.token, token.address, token.name,
                token.allowedOrigins.joined(separator: "\n"), token.callbackURL,
                token.createdMilliseconds
            )
            .run()
        }
    }

    func deleteAPIToken(_ token: String) async throws {
        try await delete(token, from: Self.apiTokenTable)
    }

    func apiTokens() async throws -> [APITokenRow] { try await rows(of: Self.apiTokenTable) }

    private static func apiToken(_ row: SQLStatement) throws -> APITokenRow {
        APITokenRow(
            token: row.text(0), address: try address(row, container: 1, environment: 2),
            name: row.text(3), allowedOrigins: row.text(4).split(separator: "\n").map(String.init),
            callbackURL: row.optionalText(5), createdMilliseconds: row.integer(6))
    }

    // MARK: Identities and consents

    func user(identity: IdentityRow) async throws -> UserRow? {
        try await database.read { database in
            let name = try SQLStatement(
                database, "SELECT user FROM identity WHERE issuer = ? AND subject = ?"
            )
            .bindAll(identity.issuer, identity.subject)
            .first { $0.text(0) }
            return try name.flatMap { try Self.user(where: "record_name", is: $0, in: database) }
        }
    }

    func put(_ identity: IdentityRow, of userRecordName: String) async throws {
        try await database.write { database in
            try SQLStatement(database, "INSERT OR IGNORE INTO identity VALUES (?, ?, ?)")
                .bindAll(identity.issuer, identity.subject, userRecordName)
                .run()
        }
    }

    func isDiscoverable(
        _ userRecordName: String, in address: ContainerAddress
    ) async throws -> Bool {
        try await database.read { database in
            try SQLStatement(
                database,
                """
                SELECT 1 FROM discoverable WHERE user = ? AND container = ? AND environment = ?
                """
            )
            .bindAll(userRecordName, address)
            .first { _ in true } ?? false
        }
    }

    func setDiscoverable(
        _ isDiscoverable: Bool, _ userRecordName: String, in address: ContainerAddress
    ) async throws {
        let sql =
            isDiscoverable
            ? "INSERT OR IGNORE INTO discoverable VALUES (?, ?, ?)"
            : "DELETE FROM discoverable WHERE user = ? AND container = ? AND environment = ?"
        try await database.write { database in
            try SQLStatement(database, sql)
                .bindAll(userRecordName, address)
                .run()
        }
    }

    // MARK: Keys of servers

    private static let serverKeyTable = KeyedTable<ServerKeyRow>(
        name: "server_key", key: "identifier", order: "created_ms, identifier",
        columns: """
            identifier, container, environment, name, public_key, user, created_ms, spent_through_ms
            """,
        row: serverKey)

    func serverKey(_ identifier: String) async throws -> ServerKeyRow? {
        try await row(identifier, of: Self.serverKeyTable)
    }

    func serverKeys() async throws -> [ServerKeyRow] { try await rows(of: Self.serverKeyTable) }

    func put(_ key: ServerKeyRow) async throws {
        try await database.write { database in
            try SQLStatement(
                database, "INSERT OR REPLACE INTO server_key VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            )
            .bindAll(
                key.identifier, key.address, key.name, key.publicKey, key.userRecordName,
                key.createdMilliseconds, key.spentThroughMilliseconds
            )
            .run()
        }
    }

    func spend(serverKey identifier: String, through milliseconds: Int64) async throws {
        try await database.write { database in
            try SQLStatement(
                database,
                """
                UPDATE server_key SET spent_through_ms = MAX(spent_through_ms, ?)
                WHERE identifier = ?
                """
            )
            .bind(1, milliseconds)
            .bind(2, identifier)
            .run()
        }
    }

    func deleteServerKey(_ identifier: String) async throws {
        try await delete(identifier, from: Self.serverKeyTable)
    }

    private static func serverKey(_ row: SQLStatement) throws -> ServerKeyRow {
        ServerKeyRow(
            identifier: row.text(0), address: try address(row, container: 1, environment: 2),
            name: row.text(3), publicKey: row.text(4), userRecordName: row.text(5),
            createdMilliseconds: row.integer(6), spentThroughMilliseconds: row.integer(7))
    }

    /// The rows of a statement.
    ///
    /// - Parameter value: the value of the statement's question mark, if it has one.
    func rows<Row: Sendable>(
        _ sql: String, binding value: String? = nil,
        _ row: @escaping @Sendable (SQLStatement) throws -> Row
    ) async throws -> [Row] {
        try await database.read { database in
            let statement = try SQLStatement(database, sql)
            if let value { try statement.bind(1, value) }
            return try statement.all(row)
        }
    }
}

/// A table whose rows have a key that is a text.
private struct KeyedTable<Row: Sendable>: Sendable {
    let name: String
    let key: String
    /// The columns by which a list is ordered.
    let order: String
    let columns: String
    let row: @Sendable (SQLStatement) throws -> Row
}

extension SQLiteDirectory {
    private func row<Row>(_ key: String, of table: KeyedTable<Row>) async throws -> Row? {
        try await rows(
            "SELECT \(table.columns) FROM \(table.name) WHERE \(table.key) = ?", binding: key,
            table.row
        ).first
    }

    private func rows<Row>(of table: KeyedTable<Row>) async throws -> [Row] {
        try await rows(
            "SELECT \(table.columns) FROM \(table.name) ORDER BY \(table.order)", table.row)
    }

    private func delete<Row>(_ key: String, from table: KeyedTable<Row>) async throws {
        try await database.write { database in
            try SQLStatement(database, "DELETE FROM \(table.name) WHERE \(table.key) = ?")
                .bind(1, key)
                .run()
        }
    }
}
