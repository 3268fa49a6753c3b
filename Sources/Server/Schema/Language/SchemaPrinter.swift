import StratusRecords

extension ContainerSchema {
    /// The schema in the schema language: equal schemas have the same text, which is read as an equal schema. Users'
    /// roles are not in it.
    public var text: String {
        var text = "DEFINE SCHEMA\n"
        for role in SchemaPrinter.sorted(roles) {
            text += "\n    CREATE ROLE \(SchemaPrinter.name(role));\n"
        }
        for recordType in SchemaPrinter.sorted(types.keys) {
            text += SchemaPrinter(schema: self, recordType: recordType).text
        }
        return text
    }
}

/// Writes one record type.
private struct SchemaPrinter {
    let schema: ContainerSchema
    let recordType: String

    var text: String {
        let items = (fields + grants).joined(separator: ",\n        ")
        return """

                RECORD TYPE \(Self.name(recordType)) (
                    \(items)
                );

            """
    }

    /// The system fields first, in Apple's order, then the type's own by name.
    private var fields: [String] {
        let rules = schema.types[recordType] ?? [:]
        let own = rules.keys.filter { SchemaSystemField(rawValue: $0) == nil }
        let lines =
            SchemaSystemField.allCases.map { field in
                let rule = rules[field.rawValue] ?? ContainerSchema.FieldRule(type: field.type)
                return (Self.name(field.rawValue), Self.definition(rule))
            }
            + Self.sorted(own).compactMap { name in
                rules[name].map { (Self.name(name), Self.definition($0)) }
            }
        let width = lines.map(\.0.utf8.count).max() ?? 0
        return lines.map { name, definition in
            name + String(repeating: " ", count: width + 1 - name.utf8.count) + definition
        }
    }

    private var grants: [String] {
        let permissions = schema.grants(of: recordType).permissions
        let builtIn = [BuiltInRole.creator, BuiltInRole.icloud, BuiltInRole.world]
        let roles =
            builtIn.filter { permissions[$0] != nil }
            + Self.sorted(permissions.keys.filter { !builtIn.contains($0) })
        return roles.map { role in
            let words = SchemaWords.permissions
                .filter { permissions[role]?.contains($0.permission) ?? false }.map(\.word)
            return "GRANT \(words.joined(separator: ", ")) TO \(Self.name(role))"
        }
    }

    private static func definition(_ rule: ContainerSchema.FieldRule) -> String {
        let scalar = SchemaWords.word(forScalar: rule.type.element ?? rule.type)
        let encrypted = rule.isEncrypted ? "ENCRYPTED " + scalar : scalar
        let type = rule.type.isList ? "LIST<\(encrypted)>" : encrypted
        let marks = SchemaWords.indexes.filter { rule.indexes.contains($0.mark) }.map(\.word)
        return ([type] + marks).joined(separator: " ")
    }

    static func name(_ name: String) -> String {
        let isPlain =
            Names.isIdentifier(name) && !SchemaWords.reserved.contains(name.uppercased())
        return isPlain ? name : "\"\(name)\""
    }

    /// In the order of the bytes, which is the same everywhere.
    static func sorted(_ names: some Sequence<String>) -> [String] {
        names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }
}
