import GRDB
import StratusRecords
import StratusSQLite

extension SQLiteDirectory {
    // MARK: Users

    func user(named name: String) async throws -> UserRow? {
        try await database.read { try Self.user(where: "name", is: name, in: $0) }
    }

    func user(recordName: String) async throws -> UserRow? {
        try await database.read { try Self.user(where: "record_name", is: recordName, in: $0) }
    }

    func user(verifiedEmailAddress: String) async throws -> UserRow? {
        try await database.read {
            try Self.user(
                where: "is_email_verified = 1 AND email", is: verifiedEmailAddress, in: $0)
        }
    }

    func users(after recordName: String, limit: Int) async throws -> [UserRow] {
        try await database.read { database in
            try SQLStatement(
                database,
                """
                SELECT \(Self.userColumns) FROM user WHERE record_name > ?
                ORDER BY record_name LIMIT ?
                """
            )
            .bind(1, recordName)
            .bind(2, Int64(limit))
            .all(Self.user)
        }
    }

    func usersBeingRemoved() async throws -> [UserRow] {
        try await rows(
            """
            SELECT \(Self.userColumns) FROM user WHERE is_being_removed = 1 ORDER BY record_name
            """
        ) { Self.user($0) }
    }

    func insert(_ user: UserRow) async throws -> UserRow {
        try await database.write { database in
            if let present = try Self.user(where: "name", is: user.name, in: database) {
                return present
            }
            let statement = try SQLStatement(
                database,
                "INSERT INTO user (\(Self.userColumns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
            try statement.bind(1, user.recordName).bind(2, user.name)
            try Self.bind(user, to: statement, from: 3)
            try statement.run()
            return user
        }
    }

    func update(_ user: UserRow) async throws -> Bool {
        try await updateUser(user.recordName, endingSessions: false) { $0 = user }
    }

    func updateUser(
        _ recordName: String, endingSessions: Bool,
        _ change: @escaping @Sendable (inout UserRow) -> Void
    ) async throws -> Bool {
        try await database.write { database in
            guard var user = try Self.user(where: "record_name", is: recordName, in: database)
            else { return false }
            change(&user)
            if user.isEmailVerified, let address = user.emailAddress,
                let holder = try Self.user(
                    where: "is_email_verified = 1 AND email", is: address, in: database),
                holder.recordName != recordName
            {
                return false
            }
            let statement = try SQLStatement(
                database,
                """
                UPDATE user SET email = ?, is_email_verified = ?, password = ?, given_name = ?,
                family_name = ?, is_disabled = ?, created_ms = ?, is_being_removed = ?
                WHERE record_name = ?
                """)
            try Self.bind(user, to: statement, from: 1)
            try statement.bind(9, recordName).run()
            if endingSessions {
                for table in ["session", "device"] {
                    try SQLStatement(database, "DELETE FROM \(table) WHERE user = ?")
                        .bind(1, recordName)
                        .run()
                }
            }
            return true
        }
    }

    func deleteUser(_ recordName: String) async throws {
        try await database.write { database in
            for (table, column) in [
                ("session", "user"), ("identity", "user"), ("discoverable", "user"),
                ("device", "user"), ("server_key", "user"), ("role_member", "user"),
                ("user", "record_name"),
            ] {
                try SQLStatement(database, "DELETE FROM \(table) WHERE \(column) = ?")
                    .bind(1, recordName)
                    .run()
            }
        }
    }

    private static let userColumns = """
        record_name, name, email, is_email_verified, password, given_name, family_name,
        is_disabled, created_ms, is_being_removed
        """

    private static func bind(_ user: UserRow, to statement: SQLStatement, from first: Int32) throws
    {
        try statement
            .bind(first, user.emailAddress)
            .bind(first + 1, user.isEmailVerified ? 1 : 0)
            .bind(first + 2, user.passwordHash)
            .bind(first + 3, user.givenName)
            .bind(first + 4, user.familyName)
            .bind(first + 5, user.isDisabled ? 1 : 0)
            .bind(first + 6, user.createdMilliseconds)
            .bind(first + 7, user.isBeingRemoved ? 1 : 0)
    }

    static func user(
        where column: String, is value: String, in database: Database
    ) throws -> UserRow? {
        try SQLStatement(database, "SELECT \(userColumns) FROM user WHERE \(column) = ?")
            .bind(1, value)
            .first(user)
    }

    private static func user(_ row: SQLStatement) -> UserRow {
        UserRow(
            recordName: row.text(0), name: row.text(1), emailAddress: row.optionalText(2),
            isEmailVerified: row.integer(3) != 0, passwordHash: row.optionalText(4),
            givenName: row.optionalText(5), familyName: row.optionalText(6),
            isDisabled: row.integer(7) != 0, isBeingRemoved: row.integer(9) != 0,
            createdMilliseconds: row.integer(8))
    }

    // MARK: Sessions

    private static let sessionColumns = """
        identifier, user, stays_signed_in, created_ms, container, environment, last_used_ms, device
        """

    private static func session(_ row: borrowing SQLStatement) throws -> SessionRow {
        SessionRow(
            identifier: row.text(0), userRecordName: row.text(1),
            staysSignedIn: row.integer(2) != 0,
            createdMilliseconds: row.integer(3),
            address: row.isNull(4) ? nil : try Self.address(row, container: 4, environment: 5),
            lastUsedMilliseconds: row.integer(6), device: row.optionalText(7))
    }

    func sessions(of userRecordName: String) async throws -> [SessionRow] {
        try await rows(
            """
            SELECT \(Self.sessionColumns) FROM session WHERE user = ?
            ORDER BY created_ms, identifier
            """, binding: userRecordName
        ) { try Self.session($0) }
    }

    func session(_ identifier: String) async throws -> SessionRow? {
        try await rows(
            "SELECT \(Self.sessionColumns) FROM session WHERE identifier = ?", binding: identifier
        ) { try Self.session($0) }.first
    }

    func put(_ session: SessionRow) async throws {
        try await database.write { try Self.put(session, in: $0) }
    }

    func begin(
        _ session: SessionRow, sessionsPerUser count: Int, passwordHash hash: String?
    ) async throws -> [String]? {
        try await database.write { database in
            if let hash {
                let user = try Self.user(
                    where: "record_name", is: session.userRecordName, in: database)
                guard user?.passwordHash == hash else { return nil }
            }
            // A session that was in use for long stays for as long again after its last use.
            let ended = try SQLStatement(
                database,
                """
                DELETE FROM session WHERE identifier IN (
                    SELECT identifier FROM session WHERE user = ?
                    ORDER BY 2 * last_used_ms - created_ms DESC, identifier LIMIT -1 OFFSET ?)
                RETURNING identifier
                """
            )
            .bind(1, session.userRecordName)
            .bind(2, Int64(max(count, 1) - 1))
            .all { $0.text(0) }
            try Self.put(session, in: database)
            return ended
        }
    }

    private static func put(_ session: SessionRow, in database: Database) throws {
        try SQLStatement(
            database,
            """
            INSERT OR REPLACE INTO session (\(sessionColumns))
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """
        )
        .bindAll(
            session.identifier, session.userRecordName, session.staysSignedIn,
            session.createdMilliseconds, session.address?.container,
            session.address?.environment.rawValue, session.lastUsedMilliseconds, session.device
        )
        .run()
    }

    func touchSession(
        _ identifier: String, usedMilliseconds: Int64, device: String?
    ) async throws {
        try await database.write { database in
            try SQLStatement(
                database,
                """
                UPDATE session SET last_used_ms = MAX(last_used_ms, ?), device = coalesce(?, device)
                WHERE identifier = ?
                """
            )
            .bind(1, usedMilliseconds)
            .bind(2, device)
            .bind(3, identifier)
            .run()
        }
    }

    func deleteSession(_ identifier: String) async throws {
        try await database.write { database in
            try SQLStatement(database, "DELETE FROM session WHERE identifier = ?")
                .bind(1, identifier)
                .run()
        }
    }

    func deleteSessions(staysSignedIn: Bool, unusedSince milliseconds: Int64) async throws {
        try await database.write { database in
            try SQLStatement(
                database, "DELETE FROM session WHERE stays_signed_in = ? AND last_used_ms < ?"
            )
            .bind(1, staysSignedIn ? 1 : 0)
            .bind(2, milliseconds)
            .run()
        }
    }
}
