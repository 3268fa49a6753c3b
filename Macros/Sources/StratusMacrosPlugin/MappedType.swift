import SwiftDiagnostics
import SwiftSyntax

/// A type with `@CloudRecord`, as far as its syntax describes it.
struct MappedType {
    enum Kind {
        /// A struct that is an entity.
        case value
        /// A final class.
        case object
        /// The properties of a `CloudObject`.
        case fields
    }

    private(set) var kind = Kind.value
    private(set) var name = ""
    /// The access level with a space after it, such as `public `; empty if there is none.
    private(set) var access = ""
    private(set) var recordType = ""
    private(set) var isWeak = false
    private(set) var properties: [MappedProperty] = []
    private(set) var ignores: [String] = []
    private(set) var syncID: String?
    private(set) var changeDate: (property: String, field: String)?
    private(set) var placeholder: String?
    private(set) var problems: [Diagnostic] = []
    /// The names of all variables.
    private var variables: Set<String> = []
    private var hasUnsetVariable = false
    private var initializers: [InitializerDeclSyntax] = []
    private var takenFields: Set<String> = []

    init(_ node: AttributeSyntax, _ declaration: some DeclGroupSyntax) {
        guard readKind(node, declaration) else { return }
        readArguments(node)
        for member in declaration.memberBlock.members {
            if let initializer = member.decl.as(InitializerDeclSyntax.self) {
                initializers.append(initializer)
            } else if let variable = member.decl.as(VariableDeclSyntax.self) {
                readVariable(variable)
            }
        }
        checkKeys(declaration)
        if problems.isEmpty, properties.isEmpty {
            report(
                "\(name) has no variable, and a record without fields has nothing to sync; give it one.",
                node)
        }
    }

    func declares(_ variable: String) -> Bool { variables.contains(variable) }

    /// Whether the type has an `init()` with its own access level.
    var isCreatable: Bool {
        let isPublic = access == "public "
        if initializers.isEmpty { return !hasUnsetVariable && !isPublic }
        return initializers.contains { initializer in
            initializer.signature.parameterClause.parameters.allSatisfy { $0.defaultValue != nil }
                && initializer.signature.parameterClause.parameters.isEmpty
                && initializer.optionalMark == nil
                && initializer.signature.effectSpecifiers == nil
                && (!isPublic || initializer.modifiers.has(.public))
        }
    }

    private mutating func report(_ sentence: String, _ place: some SyntaxProtocol) {
        problems.append(.problem(sentence, at: place))
    }

    // MARK: The type

    /// - Returns: whether it is of a kind that can be mapped.
    private mutating func readKind(
        _ node: AttributeSyntax, _ declaration: some DeclGroupSyntax
    ) -> Bool {
        let parameters: GenericParameterClauseSyntax?
        if let type = declaration.as(StructDeclSyntax.self) {
            name = type.name.text
            parameters = type.genericParameterClause
            let inherited = type.inheritanceClause?.inheritedTypes.map(\.type.trimmedDescription)
            if inherited?.contains(where: { $0.hasSuffix("CloudFields") }) == true {
                kind = .fields
            }
        } else if let type = declaration.as(ClassDeclSyntax.self) {
            name = type.name.text
            parameters = type.genericParameterClause
            kind = .object
            if !type.modifiers.has(.final) {
                report(
                    "The class \(name) is not final, and its objects sync from any thread; make it final.",
                    type.name)
            }
        } else {
            report(
                "@CloudRecord is on something other than a struct or a class; put it on a struct or"
                    + " a final class.", node)
            return false
        }
        if let parameters {
            report(
                "\(name) has generic parameters, with which no type can be mapped; remove them.",
                parameters)
        }
        access =
            declaration.modifiers.has(.public)
            ? "public " : declaration.modifiers.has(.package) ? "package " : ""
        recordType = name
        if kind == .fields, name.hasSuffix("Fields"), name != "Fields" {
            recordType = String(name.dropLast("Fields".count))
        }
        return true
    }

    private mutating func readArguments(_ node: AttributeSyntax) {
        for argument in node.labelled {
            if argument.label?.text == "isWeak" {
                guard let value = argument.expression.as(BooleanLiteralExprSyntax.self) else {
                    report(
                        "isWeak is neither true nor false; write one of them.", argument.expression)
                    continue
                }
                isWeak = value.literal.text == "true"
            } else if let name = readName(argument.expression, "record type") {
                recordType = name
            }
        }
    }

    /// The name in a string literal; nil for `nil`, and, after an error is reported, for anything else.
    private mutating func readName(_ expression: ExprSyntax, _ what: String) -> String? {
        if expression.is(NilLiteralExprSyntax.self) { return nil }
        guard let text = expression.as(StringLiteralExprSyntax.self)?.representedLiteralValue else {
            report("The name of the \(what) is not a string; write it as one.", expression)
            return nil
        }
        guard FieldName.isValid(text) else {
            report(
                "“\(text)” cannot be the name of a \(what); write a letter, then letters, digits and"
                    + " underscores.", expression)
            return nil
        }
        return text
    }

    /// Checks that a class has a sync ID and a change date.
    private mutating func checkKeys(_ declaration: some DeclGroupSyntax) {
        guard kind == .object else { return }
        let place = declaration.as(ClassDeclSyntax.self)?.name ?? .identifier("")
        if syncID == nil, !declares("syncID") {
            report(
                "\(name) has no syncID; declare it, or mark the property that holds the sync ID"
                    + " @CloudSyncID.", place)
        }
        if changeDate == nil, !declares("changeDate") {
            report(
                "\(name) has no changeDate; declare it, or mark the property that holds the date of"
                    + " the last change @CloudChangeDate.", place)
        }
    }

    // MARK: Its variables

    private mutating func readVariable(_ variable: VariableDeclSyntax) {
        let marks = Mark.all(of: variable)
        if variable.modifiers.has(.static) || variable.modifiers.has(.class) {
            return readStatic(variable, marks)
        }
        for binding in variable.bindings {
            guard let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else {
                report(
                    "Several properties are declared as one; declare each with its own name.",
                    binding.pattern)
                continue
            }
            let name = pattern.identifier.text
            variables.insert(name)
            let property = Property(
                name: name, place: Syntax(pattern), variable: variable, binding: binding)
            if property.isStored, binding.initializer == nil, !property.isOptional {
                hasUnsetVariable = true
            }
            read(property, marks)
        }
    }

    private mutating func readStatic(_ variable: VariableDeclSyntax, _ marks: [Mark]) {
        guard let first = marks.first else { return }
        let name = variable.bindings.first?.pattern.trimmedDescription ?? ""
        guard first.kind == .placeholder else {
            return report(
                "\(name) is static, and its mark is for a property of each object; remove the mark.",
                first.node)
        }
        placeholder = name
    }

    private mutating func read(_ property: Property, _ marks: [Mark]) {
        let name = property.name
        if marks.count > 1 {
            return report(
                "\(name) has several marks, which contradict each other; keep one.", marks[1].node)
        }
        let mark = marks.first
        switch mark?.kind {
        case .local: return
        case .ignore:
            ignores.append(name)
            return
        case .placeholder:
            return report(
                "\(name) is not static, and the placeholder is one for all absent objects; make it static.",
                property.place)
        default: break
        }
        let isKey = mark?.kind == .syncID || mark?.kind == .changeDate
        if !isKey, name == "syncID" || name == "changeDate" {
            guard kind == .fields else { return }
            return report(
                "The CloudObject around these properties has \(name) already; rename this one.",
                property.place)
        }
        guard property.isStored || mark != nil else { return }
        if let sentence = property.trouble { return report(sentence, property.place) }
        if isKey, kind == .fields {
            return report(
                "The CloudObject around these properties has a property for this mark; remove \(name).",
                property.place)
        }
        switch mark?.kind {
        case .syncID: syncID = name
        case .changeDate: takeChangeDate(property, mark)
        default: takeField(property, mark)
        }
    }

    private mutating func takeChangeDate(_ property: Property, _ mark: Mark?) {
        var field = "changeDate"
        if let argument = mark?.node.labelled.first {
            guard let name = readName(argument.expression, "field") else { return }
            field = name
        }
        changeDate = (property.name, field)
        claim(field, property)
    }

    private mutating func takeField(_ property: Property, _ mark: Mark?) {
        var mapped = MappedProperty(name: property.name, field: property.name)
        for argument in mark?.node.labelled ?? [] {
            if argument.label?.text == "to" {
                let text = argument.expression.trimmedDescription
                mapped.target = text
            } else if argument.expression.is(NilLiteralExprSyntax.self) {
                continue
            } else if let name = readName(argument.expression, "field") {
                mapped.field = name
            } else {
                return
            }
        }
        if mapped.target != nil {
            guard let type = property.typeText, ["String?", "[String]"].contains(type) else {
                return report(
                    "\(property.name) is for sync IDs, and is neither String? nor [String]; declare it as"
                        + " one of these.", property.place)
            }
            mapped.isList = type == "[String]"
        } else if let sentence = property.typeTrouble {
            return report(sentence, Syntax(property.type ?? TypeSyntax("Any")))
        } else if !property.isOptional {
            mapped.missing = property.constant
        }
        if !FieldName.isValid(mapped.field) {
            return report(
                "\(property.name) cannot be the name of a field; give the field another one with"
                    + " @CloudField: a letter, then letters, digits and underscores.",
                property.place)
        }
        claim(mapped.field, property)
        properties.append(mapped)
    }

    private mutating func claim(_ field: String, _ property: Property) {
        let isTaken =
            !takenFields.insert(field).inserted || (field == "changeDate" && changeDate == nil)
        if isTaken {
            report(
                "The field's name \(field) is taken; give the field of \(property.name) another one.",
                property.place)
        }
    }
}

/// A line of the map.
struct MappedProperty {
    var name: String
    var field: String
    /// The type of the objects that sync IDs identify, as it is written.
    var target: String?
    var isList = false
    /// The value for records without the field, as it is written.
    var missing: String?
}
