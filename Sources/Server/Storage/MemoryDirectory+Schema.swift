import StratusRecords

extension MemoryDirectory {
    func schema(of address: ContainerAddress) async throws -> SchemaRows {
        try use { state in
            var schema = state.schemas[address] ?? SchemaRows()
            schema.fields = schema.fields.withoutNeedlessTypes()
            return schema
        }
    }

    func extendSchema(
        of address: ContainerAddress, with fields: [SchemaFieldRow], limits: Limits
    ) async throws -> SchemaExtension {
        try use { state in
            var schema = state.schemas[address] ?? SchemaRows()
            var outcome = SchemaExtension(
                oldVersion: schema.version, version: schema.version, fields: [])
            for row in fields {
                if let present = schema.fields.first(where: { $0.isAbout(row) }) {
                    outcome.fields.append(present)
                } else if schema.fields.hasRoom(for: row, limits: limits) {
                    schema.fields.append(row)
                    outcome.fields.append(row)
                    outcome.version = schema.version + 1
                }
            }
            schema.version = outcome.version
            schema.fields.sort(by: SchemaFieldRow.isBefore)
            state.schemas[address] = schema
            return outcome
        }
    }

    func replaceSchema(
        of address: ContainerAddress, by schema: SchemaRows
    ) async throws -> Int64? {
        try use { state in
            let old = state.schemas[address] ?? SchemaRows()
            guard old.version == schema.version else { return nil }
            var new = schema
            new.version += 1
            new.fields.sort(by: SchemaFieldRow.isBefore)
            new.roles.sort(by: precedes)
            new.grants.sort(by: SchemaGrantRow.isBefore)
            new.members = old.members.filter { new.roles.contains($0.role) }
            state.schemas[address] = new
            return new.version
        }
    }

    func setRole(
        _ role: String, of user: String, in address: ContainerAddress, isAssigned: Bool
    ) async throws {
        try use { state in
            var schema = state.schemas[address] ?? SchemaRows()
            let member = RoleMemberRow(user: user, role: role)
            guard schema.members.contains(member) != isAssigned else { return }
            if isAssigned {
                schema.members.append(member)
                schema.members.sort(by: RoleMemberRow.isBefore)
            } else {
                schema.members.removeAll { $0 == member }
            }
            schema.version += 1
            state.schemas[address] = schema
        }
    }
}

extension SchemaFieldRow {
    fileprivate func isAbout(_ other: SchemaFieldRow) -> Bool {
        recordType == other.recordType && field == other.field
    }

    fileprivate static func isBefore(_ left: Self, _ right: Self) -> Bool {
        left.recordType == right.recordType
            ? precedes(left.field ?? "", right.field ?? "")
            : precedes(left.recordType, right.recordType)
    }
}

extension SchemaGrantRow {
    fileprivate static func isBefore(_ left: Self, _ right: Self) -> Bool {
        left.recordType == right.recordType
            ? precedes(left.role, right.role) : precedes(left.recordType, right.recordType)
    }
}

extension RoleMemberRow {
    fileprivate static func isBefore(_ left: Self, _ right: Self) -> Bool {
        left.role == right.role ? precedes(left.user, right.user) : precedes(left.role, right.role)
    }
}

extension [SchemaFieldRow] {
    /// Whether the row's type, if it is new, and the row's field find room.
    fileprivate func hasRoom(for row: SchemaFieldRow, limits: Limits) -> Bool {
        let ofType = filter { $0.recordType == row.recordType }
        if ofType.isEmpty, Set(map(\.recordType)).count >= limits.recordTypesPerContainer {
            return false
        }
        return !row.isUserField
            || ofType.count(where: \.isUserField) < limits.fieldsPerRecordType
    }
}
