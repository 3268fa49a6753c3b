import GRDB
import StratusRecords

extension SQLiteDirectory {
    // MARK: Users

    func user(named name: String) async throws -> UserRow? {
        try await file.read { try Self.user(where: "name", is: name, in: $0) }
    }

    func user(recordName: String) async throws -> UserRow? {
        try await file.read { try Self.user(where: "record_name", is: recordName, in: $0) }
    }

    func insert(_ user: UserRow) async throws -> UserRow {
        try await file.write { database in
            if let present = try Self.user(where: "name", is: user.name, in: database) {
                return present
            }
            try SQLStatement(database, "INSERT INTO user VALUES (?, ?)")
                .bind(1, user.recordName)
                .bind(2, user.name)
                .run()
            return user
        }
    }

    private static func user(
        where column: String, is value: String, in database: Database
    ) throws -> UserRow? {
        try SQLStatement(database, "SELECT record_name, name FROM user WHERE \(column) = ?")
            .bind(1, value)
            .first { UserRow(recordName: $0.text(0), name: $0.text(1)) }
    }

    // MARK: Sessions

    func session(_ identifier: String) async throws -> SessionRow? {
        try await file.read { database in
            try SQLStatement(
                database,
                "SELECT user, stays_signed_in, created_ms FROM session WHERE identifier = ?"
            )
            .bind(1, identifier)
            .first { row in
                SessionRow(
                    identifier: identifier, userRecordName: row.text(0),
                    staysSignedIn: row.integer(1) != 0, createdMilliseconds: row.integer(2))
            }
        }
    }

    func put(_ session: SessionRow) async throws {
        try await file.write { database in
            try SQLStatement(database, "INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?)")
                .bind(1, session.identifier)
                .bind(2, session.userRecordName)
                .bind(3, session.staysSignedIn ? 1 : 0)
                .bind(4, session.createdMilliseconds)
                .run()
        }
    }

    func deleteSession(_ identifier: String) async throws {
        try await file.write { database in
            try SQLStatement(database, "DELETE FROM session WHERE identifier = ?")
                .bind(1, identifier)
                .run()
        }
    }
}
