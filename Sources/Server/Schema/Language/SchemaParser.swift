import StratusRecords

extension ContainerSchema {
    /// Reads a schema from its text.
    ///
    /// ```
    /// DEFINE SCHEMA
    ///     RECORD TYPE Hut (
    ///         beds INT64 QUERYABLE SORTABLE,
    ///         GRANT READ TO "_world"
    ///     );
    /// ```
    ///
    /// The language is described in Documentation/Schema.md.
    ///
    /// - Throws: ``SchemaSyntaxError`` for the first error, also of names, marks, roles and limits.
    public init(text: String, limits: Limits = Limits()) throws(SchemaSyntaxError) {
        guard text.utf8.count <= limits.schemaTextBytes else {
            throw SchemaSyntaxError(
                "The text is longer than \(limits.schemaTextBytes) bytes, the most of a schema.",
                at: .init())
        }
        var parser = try SchemaParser(text, limits: limits)
        self = try parser.parse()
    }
}

/// Reads the statements of the schema language by recursive descent, one token ahead.
struct SchemaParser {
    private let limits: Limits
    private var lexer: SchemaLexer
    private var token: SchemaToken
    private var schema = ContainerSchema()
    /// The roles that grants name, with the place: CREATE ROLE may follow the first use.
    private var namedRoles: [(role: String, place: SchemaToken.Place)] = []

    init(_ text: String, limits: Limits) throws(SchemaSyntaxError) {
        self.limits = limits
        lexer = SchemaLexer(text)
        token = try lexer.next()
    }

    mutating func parse() throws(SchemaSyntaxError) -> ContainerSchema {
        try expect("DEFINE")
        try expect("SCHEMA")
        while token.kind != .end {
            if token.isKeyword("CREATE") {
                try role()
            } else if token.isKeyword("RECORD") {
                try recordType()
            } else {
                throw expected("CREATE ROLE or RECORD TYPE")
            }
        }
        for (role, place) in namedRoles where !schema.roles.contains(role) {
            throw SchemaSyntaxError("The role '\(role)' has no CREATE ROLE; add one.", at: place)
        }
        return schema
    }

    // MARK: Statements

    private mutating func role() throws(SchemaSyntaxError) {
        try advance()
        try expect("ROLE")
        let (name, place) = try name("a role's name")
        guard Names.isIdentifier(name) else { throw Self.badName("role", at: place) }
        guard !schema.roles.contains(name) else {
            throw SchemaSyntaxError("The role '\(name)' is defined twice.", at: place)
        }
        guard schema.roles.count < limits.rolesPerContainer else {
            throw SchemaSyntaxError(
                "The text has more than \(limits.rolesPerContainer) roles, the most of a container.",
                at: place)
        }
        schema.addRole(name)
        try expect(sign: ";")
    }

    private mutating func recordType() throws(SchemaSyntaxError) {
        try advance()
        try expect("TYPE")
        let (name, place) = try name("a record type's name")
        guard SchemaWords.isTypeName(name) else { throw Self.badName("record type", at: place) }
        guard !schema.hasType(name) else {
            throw SchemaSyntaxError("The record type '\(name)' is defined twice.", at: place)
        }
        guard schema.types.count < limits.recordTypesPerContainer else {
            throw SchemaSyntaxError(
                "The text has more than \(limits.recordTypesPerContainer) record types, the most of a"
                    + " container.", at: place
            )
        }
        schema.addType(name)
        var definition = RecordTypeDefinition(name: name)
        try expect(sign: "(")
        if token.kind != .sign(")") {
            try item(of: &definition)
            while token.kind == .sign(",") {
                try advance()
                try item(of: &definition)
            }
        }
        try expect(sign: ")", else: "',' or ')'")
        try expect(sign: ";")
        schema.setGrants(definition.grants, of: name)
    }

    /// What the parser collects about the record type that it is reading.
    private struct RecordTypeDefinition {
        let name: String
        var fieldNames: Set<String> = []
        var fieldCount = 0
        var grants = Grants()
    }

    private mutating func item(
        of definition: inout RecordTypeDefinition
    ) throws(SchemaSyntaxError) {
        if token.isKeyword("GRANT") {
            try grant(to: &definition.grants)
        } else {
            try field(of: &definition)
        }
    }

    private mutating func grant(to grants: inout Grants) throws(SchemaSyntaxError) {
        try advance()
        var permissions = try permission()
        while token.kind == .sign(",") {
            try advance()
            permissions.formUnion(try permission())
        }
        try expect("TO")
        let (role, place) = try name("a role's name")
        if !BuiltInRole.all.contains(role) { namedRoles.append((role, place)) }
        grants.permissions[role, default: []].formUnion(permissions)
    }

    private mutating func permission() throws(SchemaSyntaxError) -> RecordPermissions {
        for (word, permission) in SchemaWords.permissions where token.isKeyword(word) {
            try advance()
            return permission
        }
        throw expected("READ, CREATE or WRITE")
    }

    // MARK: Fields

    private mutating func field(
        of definition: inout RecordTypeDefinition
    ) throws(SchemaSyntaxError) {
        let (name, place) = try name("a field's name or GRANT")
        let system = SchemaSystemField(rawValue: name)
        guard system != nil || SchemaWords.isFieldName(name, of: definition.name) else {
            throw Self.badName("field", at: place)
        }
        guard definition.fieldNames.insert(name).inserted else {
            throw SchemaSyntaxError("The field '\(name)' is defined twice.", at: place)
        }
        if system == nil { definition.fieldCount += 1 }
        guard definition.fieldCount <= limits.fieldsPerRecordType else {
            throw SchemaSyntaxError(
                "The record type has more than \(limits.fieldsPerRecordType) fields, the most allowed.",
                at: place)
        }
        let typePlace = token.place
        var rule = try type()
        if let system, rule != .init(type: system.type) {
            throw SchemaSyntaxError(
                "The system field '\(name)' is of the type \(system.type.rawValue).", at: typePlace)
        }
        rule.indexes = try indexes(of: rule)
        if system == nil || !rule.indexes.isEmpty {
            schema.setRule(rule, for: name, of: definition.name)
        }
    }

    private mutating func type() throws(SchemaSyntaxError) -> ContainerSchema.FieldRule {
        guard token.isKeyword("LIST") else { return try scalarType() }
        try advance()
        try expect(sign: "<")
        let place = token.place
        var rule = try scalarType()
        guard let list = rule.type.listType else {
            throw SchemaSyntaxError("There are no lists of \(rule.type.rawValue).", at: place)
        }
        rule.type = list
        try expect(sign: ">")
        return rule
    }

    private mutating func scalarType() throws(SchemaSyntaxError) -> ContainerSchema.FieldRule {
        let isEncrypted = token.isKeyword("ENCRYPTED")
        if isEncrypted { try advance() }
        let place = token.place
        let type = try token.isKeyword("NUMBER") ? numberType() : namedType()
        guard !isEncrypted || type.canBeEncrypted else {
            throw SchemaSyntaxError("References and assets cannot be encrypted.", at: place)
        }
        return ContainerSchema.FieldRule(type: type, isEncrypted: isEncrypted)
    }

    private mutating func namedType() throws(SchemaSyntaxError) -> FieldType {
        guard case .word(let word) = token.kind,
            let type = SchemaWords.scalarType(word.uppercased())
        else { throw expected("a field's type") }
        try advance()
        return type
    }

    /// A NUMBER without a preference is a DOUBLE, which can hold whole numbers too.
    private mutating func numberType() throws(SchemaSyntaxError) -> FieldType {
        try advance()
        guard token.isKeyword("PREFERRED") else { return .double }
        try advance()
        try expect("AS")
        guard token.isKeyword("INT64") || token.isKeyword("DOUBLE") else {
            throw expected("INT64 or DOUBLE")
        }
        return try namedType()
    }

    private mutating func indexes(
        of rule: ContainerSchema.FieldRule
    ) throws(SchemaSyntaxError) -> FieldIndexes {
        var indexes: FieldIndexes = []
        while let (word, mark) = SchemaWords.indexes.first(where: { token.isKeyword($0.word) }) {
            if rule.isEncrypted {
                throw SchemaSyntaxError("An encrypted field cannot be \(word).", at: token.place)
            }
            guard rule.type.possibleIndexes.contains(mark) else {
                throw SchemaSyntaxError(
                    "A field of this type cannot be \(word).", at: token.place)
            }
            guard indexes.insert(mark).inserted else {
                throw SchemaSyntaxError("\(word) is repeated.", at: token.place)
            }
            try advance()
        }
        return indexes
    }

    // MARK: Tokens

    private mutating func advance() throws(SchemaSyntaxError) {
        token = try lexer.next()
    }

    private mutating func expect(_ keyword: String) throws(SchemaSyntaxError) {
        guard token.isKeyword(keyword) else { throw expected(keyword) }
        try advance()
    }

    private mutating func expect(
        sign: Character, else wanted: String? = nil
    ) throws(SchemaSyntaxError) {
        guard token.kind == .sign(sign) else { throw expected(wanted ?? "'\(sign)'") }
        try advance()
    }

    private mutating func name(
        _ wanted: String
    ) throws(SchemaSyntaxError) -> (name: String, place: SchemaToken.Place) {
        let place = token.place
        switch token.kind {
        case .quoted(let name):
            try advance()
            return (name, place)
        case .word(let name):
            guard !SchemaWords.reserved.contains(name.uppercased()) else {
                throw SchemaSyntaxError(
                    "'\(name)' is a keyword; as a name it is written \"\(name)\".",
                    at: place)
            }
            try advance()
            return (name, place)
        case .sign, .end: throw expected(wanted)
        }
    }

    private func expected(_ wanted: String) -> SchemaSyntaxError {
        SchemaSyntaxError("Expected \(wanted), found \(token.name).", at: token.place)
    }

    private static func badName(
        _ noun: String, at place: SchemaToken.Place
    ) -> SchemaSyntaxError {
        SchemaSyntaxError(
            "A \(noun)'s name is a letter, then letters, digits and underscores, 255 at most.",
            at: place)
    }
}
