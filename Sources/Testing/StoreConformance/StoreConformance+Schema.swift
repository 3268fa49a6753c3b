import StratusRecords
import StratusStorage

extension StoreConformance {
    static let schemas: [Case] = [
        Case("a field keeps its first type; a type may have no fields") { storage in
            let directory = storage.directory
            let name = field("name", .string, indexes: [.queryable, .searchable])
            let secret = SchemaFieldRow(
                recordType: "Trail", field: "secret", type: .bytes, isEncrypted: true)
            let bare = SchemaFieldRow(recordType: "Bench", field: nil, type: nil)
            try expect(await directory.schema(of: container), equals: SchemaRows())
            let first = try await directory.extendSchema(of: container, with: [name, bare])
            try expect(first, equals: .init(oldVersion: 0, version: 1, fields: [name, bare]))
            let typeAlone = SchemaFieldRow(recordType: "Trail", field: nil, type: nil)
            let second = try await directory.extendSchema(
                of: container, with: [field("name", .int64), secret, typeAlone])
            try expect(
                second, equals: .init(oldVersion: 1, version: 2, fields: [name, secret, typeAlone]))
            try expect(await directory.schema(of: container).fields, equals: [bare, name, secret])
            let wood = SchemaFieldRow(recordType: "Bench", field: "wood", type: .string)
            try await directory.extendSchema(of: container, with: [wood])
            try expect(
                await directory.schema(of: container),
                equals: SchemaRows(version: 3, fields: [wood, name, secret]))
            try expect(await directory.schema(of: production), equals: SchemaRows())
        },

        Case("a field keeps its first marks, and so does a system field") { storage in
            let directory = storage.directory
            let recordID = SchemaFieldRow(recordType: "Trail", .recordID, indexes: .queryable)
            let name = field("name", .string, indexes: [.queryable, .sortable, .searchable])
            try await directory.extendSchema(of: container, with: [name, recordID])
            let again = try await directory.extendSchema(
                of: container, with: [field("name", .string)])
            try expect(again, equals: .init(oldVersion: 1, version: 1, fields: [name]))
            try expect(await directory.schema(of: container).fields, equals: [recordID, name])
        },

        Case("requests that add one field at once get the same type") { storage in
            let directory = storage.directory
            let types: [FieldType] = [.string, .int64, .double, .bytes]
            let answers = try await withThrowingTaskGroup(of: [SchemaFieldRow].self) { group in
                for type in types {
                    group.addTask {
                        try await directory.extendSchema(
                            of: container, with: [field("x", type)]
                        ).fields
                    }
                }
                return try await group.reduce(into: Set<[SchemaFieldRow]>()) { $0.insert($1) }
            }
            try expect(answers.count, equals: 1)
            try expect(answers.first, equals: await directory.schema(of: container).fields)
        },

        Case("fields and types beyond the limits are left out") { storage in
            let directory = storage.directory
            var limits = Limits()
            limits.fieldsPerRecordType = 2
            limits.recordTypesPerContainer = 2
            let recordID = SchemaFieldRow(recordType: "Trail", .recordID, indexes: .queryable)
            let full = try await directory.extendSchema(
                of: container,
                with: [field("a", .string), recordID, field("b", .string), field("c", .string)],
                limits: limits)
            try expect(
                full.fields, equals: [field("a", .string), recordID, field("b", .string)])
            let known = try await directory.extendSchema(
                of: container, with: [field("c", .string), field("b", .int64)], limits: limits)
            try expect(
                known, equals: .init(oldVersion: 1, version: 1, fields: [field("b", .string)]))
            let types = ["Hut", "Bench"].map {
                SchemaFieldRow(recordType: $0, field: nil, type: nil)
            }
            let third = try await directory.extendSchema(of: container, with: types, limits: limits)
            try expect(third.fields, equals: [types[0]])
            let grown = try await directory.extendSchema(
                of: container,
                with: [SchemaFieldRow(recordType: "Hut", field: "beds", type: .int64)],
                limits: limits)
            try expect(grown.fields.count, equals: 1)
        },

        Case("a schema is replaced as a whole, unless it has changed meanwhile") { storage in
            let directory = storage.directory
            try await directory.extendSchema(of: container, with: [field("name", .string)])
            try await directory.setRole("editor", of: "_alice", in: container, isAssigned: true)
            try await directory.setRole("guest", of: "_alice", in: container, isAssigned: true)
            let new = SchemaRows(
                version: 3, fields: [field("beds", .int64)], roles: ["author", "editor"],
                grants: [
                    SchemaGrantRow(recordType: "Trail", role: "_world", permissions: .read),
                    SchemaGrantRow(
                        recordType: "Trail", role: "editor", permissions: [.create, .write]),
                ])
            var stale = new
            stale.version = 2
            try expect(await directory.replaceSchema(of: container, by: stale), equals: nil)
            try expect(await directory.replaceSchema(of: container, by: new), equals: 4)
            var expected = new
            expected.version = 4
            expected.members = [RoleMemberRow(user: "_alice", role: "editor")]
            try expect(await directory.schema(of: container), equals: expected)
            try expect(await directory.schema(of: production), equals: SchemaRows())
        },

        Case("roles are assigned and revoked, and only a change raises the version") { storage in
            let directory = storage.directory
            func give(_ role: String, _ user: String, _ isAssigned: Bool) async throws {
                try await directory.setRole(
                    role, of: user, in: container, isAssigned: isAssigned)
            }
            try await give("editor", "_bob", true)
            try await give("editor", "_alice", true)
            try await give("editor", "_alice", true)
            try await give("author", "_bob", true)
            try await give("author", "_alice", false)
            let rows = try await directory.schema(of: container)
            try expect(rows.version, equals: 3)
            try expect(rows.members.map(\.role), equals: ["author", "editor", "editor"])
            try expect(rows.members.map(\.user), equals: ["_bob", "_alice", "_bob"])
            try await give("editor", "_bob", false)
            let left = try await directory.schema(of: container)
            try expect(left.version, equals: 4)
            try expect(left.members.count, equals: 2)
        },
    ]

    private static let production = ContainerAddress(
        container: container.container, environment: .production)

    /// A field of the record type Trail.
    private static func field(
        _ name: String, _ type: FieldType, indexes: FieldIndexes = []
    ) -> SchemaFieldRow {
        SchemaFieldRow(recordType: "Trail", field: name, type: type, indexes: indexes)
    }
}
