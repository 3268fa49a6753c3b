import GRDB
import StratusRecords

/// The directory in its own file.
struct SQLiteDirectory: Directory {
    let file: SQLiteFile

    func signingKey() async throws -> [UInt8] {
        let key = try await file.read { database in
            try SQLStatement(database, "SELECT value FROM setting WHERE name = 'signing_key'")
                .first { $0.bytes(0) }
        }
        guard let key else {
            throw StorageError(
                .corrupt, "The directory has lost its signing key. Restore it from a backup.",
                path: file.path)
        }
        return key
    }

    /// SQLite's `data_version` as the writing connection sees it, which its own commits leave alone.
    func changesByOthers() async throws -> Int64 {
        try await file.write { database in
            try SQLStatement(database, "PRAGMA data_version").first { $0.integer(0) } ?? 0
        }
    }

    // MARK: Containers

    func container(_ address: ContainerAddress) async throws -> Bool {
        try await file.read { database in
            try SQLStatement(
                database, "SELECT 1 FROM container WHERE container = ? AND environment = ?"
            )
            .bind(1, address.container)
            .bind(2, address.environment.rawValue)
            .first { _ in true } ?? false
        }
    }

    func createContainer(_ address: ContainerAddress) async throws {
        try await file.write { database in
            try SQLStatement(database, "INSERT OR IGNORE INTO container VALUES (?, ?)")
                .bind(1, address.container)
                .bind(2, address.environment.rawValue)
                .run()
        }
    }

    // MARK: Schema

    func schema(of address: ContainerAddress) async throws -> [SchemaFieldRow] {
        try await file.read { try Self.schema(of: address, in: $0) }
    }

    func extendSchema(
        of address: ContainerAddress, with fields: [SchemaFieldRow]
    ) async throws -> [SchemaFieldRow] {
        try await file.write { database in
            for row in fields {
                try SQLStatement(
                    database, "INSERT OR IGNORE INTO schema_field VALUES (?, ?, ?, ?, ?, ?)"
                )
                .bind(1, address.container)
                .bind(2, address.environment.rawValue)
                .bind(3, row.recordType)
                .bind(4, row.field ?? "")
                .bind(5, row.field == nil ? nil : row.type?.rawValue)
                .bind(6, row.isEncrypted ? 1 : 0)
                .run()
            }
            return try Self.schema(of: address, in: database)
        }
    }

    private static func schema(
        of address: ContainerAddress, in database: Database
    ) throws -> [SchemaFieldRow] {
        let rows = try SQLStatement(
            database,
            """
            SELECT record_type, field, type, is_encrypted FROM schema_field
            WHERE container = ? AND environment = ? ORDER BY record_type, field
            """
        )
        .bind(1, address.container)
        .bind(2, address.environment.rawValue)
        .all { row in
            let field = row.text(1)
            return SchemaFieldRow(
                recordType: row.text(0), field: field.isEmpty ? nil : field,
                type: row.optionalText(2).flatMap(FieldType.init(rawValue:)),
                isEncrypted: row.integer(3) != 0)
        }
        return rows.withoutNeedlessTypes()
    }

    static func address(
        _ row: SQLStatement, container: Int32, environment: Int32
    ) throws -> ContainerAddress {
        guard let known = ContainerEnvironment(rawValue: row.text(environment)) else {
            throw StorageError(
                .corrupt, "The directory names an unknown environment. Restore it from a backup.")
        }
        return ContainerAddress(container: row.text(container), environment: known)
    }
}

extension [SchemaFieldRow] {
    /// Leaves out the rows that only say that a type exists, where its fields say so too. The rows are
    /// in the order of their types, that row first.
    func withoutNeedlessTypes() -> Self {
        enumerated().filter { index, row in
            row.field != nil || index + 1 == count || self[index + 1].recordType != row.recordType
        }.map(\.element)
    }
}
