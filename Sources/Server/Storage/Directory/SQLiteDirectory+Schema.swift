import GRDB
import StratusRecords
import StratusSQLite

extension SQLiteDirectory {
    func schema(of address: ContainerAddress) async throws -> SchemaRows {
        try await database.read { database in
            SchemaRows(
                version: try Self.schemaVersion(of: address, in: database),
                fields: try Self.schemaFields(of: address, in: database),
                roles: try SQLStatement(
                    database,
                    """
                    SELECT role FROM schema_role WHERE container = ? AND environment = ?
                    ORDER BY role
                    """
                )
                .bindAll(address).all { $0.text(0) },
                grants: try SQLStatement(
                    database,
                    """
                    SELECT record_type, role, permissions FROM schema_grant
                    WHERE container = ? AND environment = ? ORDER BY record_type, role
                    """
                )
                .bindAll(address)
                .all {
                    SchemaGrantRow(
                        recordType: $0.text(0), role: $0.text(1),
                        permissions: RecordPermissions(
                            rawValue: UInt8(truncatingIfNeeded: $0.integer(2))))
                },
                members: try SQLStatement(
                    database,
                    """
                    SELECT user, role FROM role_member WHERE container = ? AND environment = ?
                    ORDER BY role, user
                    """
                )
                .bindAll(address).all { RoleMemberRow(user: $0.text(0), role: $0.text(1)) })
        }
    }

    func extendSchema(
        of address: ContainerAddress, with fields: [SchemaFieldRow], limits: Limits
    ) async throws -> SchemaExtension {
        try await database.write { database in
            let oldVersion = try Self.schemaVersion(of: address, in: database)
            var outcome = SchemaExtension(oldVersion: oldVersion, version: oldVersion, fields: [])
            var quota = SchemaQuota(address: address, limits: limits, database: database)
            for row in fields {
                if let present = try Self.present(row, of: address, in: database) {
                    outcome.fields.append(present)
                } else if try quota.take(row) {
                    try Self.insert(row, of: address, in: database)
                    outcome.fields.append(row)
                }
            }
            if quota.isTaken {
                outcome.version = try Self.countSchemaChange(of: address, in: database)
            }
            return outcome
        }
    }

    func replaceSchema(
        of address: ContainerAddress, by schema: SchemaRows
    ) async throws -> Int64? {
        try await database.write { database in
            guard try Self.schemaVersion(of: address, in: database) == schema.version else {
                return nil
            }
            for table in ["schema_field", "schema_role", "schema_grant"] {
                try SQLStatement(
                    database, "DELETE FROM \(table) WHERE container = ? AND environment = ?"
                )
                .bindAll(address).run()
            }
            for row in schema.fields { try Self.insert(row, of: address, in: database) }
            for role in schema.roles {
                try SQLStatement(database, "INSERT INTO schema_role VALUES (?, ?, ?)")
                    .bindAll(address, role).run()
            }
            for grant in schema.grants {
                try SQLStatement(database, "INSERT INTO schema_grant VALUES (?, ?, ?, ?, ?)")
                    .bindAll(
                        address, grant.recordType, grant.role, Int64(grant.permissions.rawValue)
                    )
                    .run()
            }
            try SQLStatement(
                database,
                """
                DELETE FROM role_member WHERE container = ?1 AND environment = ?2 AND role NOT IN
                    (SELECT role FROM schema_role WHERE container = ?1 AND environment = ?2)
                """
            )
            .bindAll(address).run()
            return try Self.countSchemaChange(of: address, in: database)
        }
    }

    func setRole(
        _ role: String, of user: String, in address: ContainerAddress, isAssigned: Bool
    ) async throws {
        try await database.write { database in
            let isPresent =
                try SQLStatement(
                    database,
                    """
                    SELECT 1 FROM role_member
                    WHERE container = ? AND environment = ? AND role = ? AND user = ?
                    """
                )
                .bindAll(address, role, user).first { _ in true } ?? false
            guard isPresent != isAssigned else { return }
            let change =
                isAssigned
                ? "INSERT INTO role_member VALUES (?, ?, ?, ?)"
                : """
                DELETE FROM role_member
                WHERE container = ? AND environment = ? AND role = ? AND user = ?
                """
            try SQLStatement(database, change).bindAll(address, role, user).run()
            _ = try Self.countSchemaChange(of: address, in: database)
        }
    }

    // MARK: Rows

    private static func schemaVersion(
        of address: ContainerAddress, in database: Database
    ) throws -> Int64 {
        try SQLStatement(
            database, "SELECT version FROM schema_state WHERE container = ? AND environment = ?"
        )
        .bindAll(address).first { $0.integer(0) } ?? 0
    }

    private static func countSchemaChange(
        of address: ContainerAddress, in database: Database
    ) throws -> Int64 {
        try SQLStatement(
            database,
            """
            INSERT INTO schema_state VALUES (?, ?, 1)
            ON CONFLICT (container, environment) DO UPDATE SET version = version + 1
            """
        )
        .bindAll(address).run()
        return try schemaVersion(of: address, in: database)
    }

    private static func schemaFields(
        of address: ContainerAddress, in database: Database
    ) throws -> [SchemaFieldRow] {
        try SQLStatement(
            database,
            """
            SELECT record_type, field, type, is_encrypted, indexes FROM schema_field
            WHERE container = ? AND environment = ? ORDER BY record_type, field
            """
        )
        .bindAll(address).all(fieldRow).withoutNeedlessTypes()
    }

    private static func present(
        _ row: SchemaFieldRow, of address: ContainerAddress, in database: Database
    ) throws -> SchemaFieldRow? {
        try SQLStatement(
            database,
            """
            SELECT record_type, field, type, is_encrypted, indexes FROM schema_field
            WHERE container = ? AND environment = ? AND record_type = ? AND field = ?
            """
        )
        .bindAll(address, row.recordType, row.field ?? "").first(fieldRow)
    }

    private static func fieldRow(_ row: SQLStatement) -> SchemaFieldRow {
        let field = row.text(1)
        return SchemaFieldRow(
            recordType: row.text(0), field: field.isEmpty ? nil : field,
            type: row.optionalText(2).flatMap(FieldType.init(rawValue:)),
            isEncrypted: row.integer(3) != 0,
            indexes: FieldIndexes(rawValue: UInt8(truncatingIfNeeded: row.integer(4))))
    }

    private static func insert(
        _ row: SchemaFieldRow, of address: ContainerAddress, in database: Database
    ) throws {
        try SQLStatement(database, "INSERT INTO schema_field VALUES (?, ?, ?, ?, ?, ?, ?)")
            .bindAll(
                address, row.recordType, row.field ?? "",
                row.field == nil ? nil : row.type?.rawValue, row.isEncrypted,
                Int64(row.indexes.rawValue)
            )
            .run()
    }
}

/// What a schema may still add, counted once for each type that a transaction extends.
private struct SchemaQuota {
    let address: ContainerAddress
    let limits: Limits
    let database: Database
    private(set) var isTaken = false
    private var types: Int?
    private var fieldsByType: [String: Int] = [:]

    init(address: ContainerAddress, limits: Limits, database: Database) {
        self.address = address
        self.limits = limits
        self.database = database
    }

    /// Counts a row that does not exist yet.
    mutating func take(_ row: SchemaFieldRow) throws -> Bool {
        guard let fields = try fields(of: row.recordType) else {
            let types = try types ?? countTypes()
            self.types = types
            guard types < limits.recordTypesPerContainer else { return false }
            self.types = types + 1
            fieldsByType[row.recordType] = row.isUserField ? 1 : 0
            isTaken = true
            return true
        }
        if row.isUserField, fields >= limits.fieldsPerRecordType { return false }
        fieldsByType[row.recordType] = row.isUserField ? fields + 1 : fields
        isTaken = true
        return true
    }

    /// The number of a type's fields; nil for a type that does not exist.
    private mutating func fields(of recordType: String) throws -> Int? {
        if let known = fieldsByType[recordType] { return known }
        let rows = try SQLStatement(
            database,
            """
            SELECT field FROM schema_field
            WHERE container = ? AND environment = ? AND record_type = ?
            """
        )
        .bindAll(address, recordType).all { $0.text(0) }
        guard !rows.isEmpty else { return nil }
        let count = rows.count { !$0.isEmpty && !$0.hasPrefix("___") }
        fieldsByType[recordType] = count
        return count
    }

    private func countTypes() throws -> Int {
        let count = try SQLStatement(
            database,
            """
            SELECT count(DISTINCT record_type) FROM schema_field
            WHERE container = ? AND environment = ?
            """
        )
        .bindAll(address).first { $0.integer(0) }
        return Int(count ?? 0)
    }
}

extension [SchemaFieldRow] {
    /// Leaves out the row that only states that a type exists, if the type has fields too. The rows are ordered by
    /// type, with that row first.
    func withoutNeedlessTypes() -> Self {
        enumerated().filter { index, row in
            row.field != nil || index + 1 == count || self[index + 1].recordType != row.recordType
        }.map(\.element)
    }
}
