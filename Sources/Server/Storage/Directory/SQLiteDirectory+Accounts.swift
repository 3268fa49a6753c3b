import GRDB
import StratusRecords

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

    private static let apiTokenColumns = """
        token, container, environment, name, allowed_origins, callback_url, created_ms
        """

    func apiToken(_ token: String) async throws -> APITokenRow? {
        try await rows(
            "SELECT \(Self.apiTokenColumns) FROM api_token WHERE token = ?", binding: token,
            Self.apiToken
        ).first
    }

    func apiTokens() async throws -> [APITokenRow] {
        try await rows(
            "SELECT \(Self.apiTokenColumns) FROM api_token ORDER BY created_ms, token",
            Self.apiToken)
    }

    func put(_ token: APITokenRow) async throws {
        try await database.write { database in
            try SQLStatement(
                database,
                """
                INSERT OR REPLACE INTO api_token (\(Self.apiTokenColumns))
                VALUES (?, ?, ?, ?, ?, ?, ?)
                """
            )
            .bind(1, token.token)
            .bind(2, token.address.container)
            .bind(3, token.address.environment.rawValue)
            .bind(4, token.name)
            .bind(5, token.allowedOrigins.joined(separator: "\n"))
            .bind(6, token.callbackURL)
            .bind(7, token.createdMilliseconds)
            .run()
        }
    }

    func deleteAPIToken(_ token: String) async throws {
        try await delete(from: "api_token", where: "token", is: token)
    }

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
            .bind(1, identity.issuer)
            .bind(2, identity.subject)
            .first { $0.text(0) }
            return try name.flatMap { try Self.user(where: "record_name", is: $0, in: database) }
        }
    }

    func put(_ identity: IdentityRow, of userRecordName: String) async throws {
        try await database.write { database in
            try SQLStatement(database, "INSERT OR IGNORE INTO identity VALUES (?, ?, ?)")
                .bind(1, identity.issuer)
                .bind(2, identity.subject)
                .bind(3, userRecordName)
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
            .bind(1, userRecordName)
            .bind(2, address.container)
            .bind(3, address.environment.rawValue)
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
                .bind(1, userRecordName)
                .bind(2, address.container)
                .bind(3, address.environment.rawValue)
                .run()
        }
    }

    // MARK: Keys of servers

    private static let serverKeyColumns = """
        identifier, container, environment, name, public_key, user, created_ms, spent_through_ms
        """

    func serverKey(_ identifier: String) async throws -> ServerKeyRow? {
        try await rows(
            "SELECT \(Self.serverKeyColumns) FROM server_key WHERE identifier = ?",
            binding: identifier,
            Self.serverKey
        ).first
    }

    func serverKeys() async throws -> [ServerKeyRow] {
        try await rows(
            "SELECT \(Self.serverKeyColumns) FROM server_key ORDER BY created_ms, identifier",
            Self.serverKey)
    }

    func put(_ key: ServerKeyRow) async throws {
        try await database.write { database in
            try SQLStatement(
                database, "INSERT OR REPLACE INTO server_key VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
            )
            .bind(1, key.identifier)
            .bind(2, key.address.container)
            .bind(3, key.address.environment.rawValue)
            .bind(4, key.name)
            .bind(5, key.publicKey)
            .bind(6, key.userRecordName)
            .bind(7, key.createdMilliseconds)
            .bind(8, key.spentThroughMilliseconds)
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
        try await delete(from: "server_key", where: "identifier", is: identifier)
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

    private func delete(from table: String, where column: String, is value: String) async throws {
        try await database.write { database in
            try SQLStatement(database, "DELETE FROM \(table) WHERE \(column) = ?")
                .bind(1, value)
                .run()
        }
    }
}
