import GRDB
import StratusRecords

extension SQLiteDirectory {
    func schema(of address: ContainerAddress) async throws -> [SchemaFieldRow] {
        try await file.read { try Self.schema(of: address, in: $0) }
    }

    func extendSchema(
        of address: ContainerAddress, with fields: [SchemaFieldRow]
    ) async throws -> [SchemaFieldRow] {
        try await file.write { database in
            for row in fields {
                try SQLStatement(
                    database, "INSERT OR IGNORE INTO schema_field VALUES (?, ?, ?, ?, ?, ?, ?)"
                )
                .bind(1, address.container)
                .bind(2, address.environment.rawValue)
                .bind(3, row.recordType)
                .bind(4, row.field ?? "")
                .bind(5, row.field == nil ? nil : row.type?.rawValue)
                .bind(6, row.isEncrypted ? 1 : 0)
                .bind(7, Int64(row.indexes.rawValue))
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
            SELECT record_type, field, type, is_encrypted, indexes FROM schema_field
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
                isEncrypted: row.integer(3) != 0,
                indexes: FieldIndexes(rawValue: UInt8(truncatingIfNeeded: row.integer(4))))
        }
        return rows.withoutNeedlessTypes()
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
