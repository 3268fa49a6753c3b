import SwiftSyntax

/// A variable of a type.
struct Property {
    var name: String
    var place: Syntax
    var variable: VariableDeclSyntax
    var binding: PatternBindingSyntax

    var type: TypeSyntax? { binding.typeAnnotation?.type }
    var typeText: String? { type?.trimmedDescription }

    var isOptional: Bool {
        guard let type else { return false }
        return type.is(OptionalTypeSyntax.self) || type.trimmedDescription.hasPrefix("Optional<")
    }

    private var accessors: [Keyword] {
        guard case .accessors(let list) = binding.accessorBlock?.accessors else { return [] }
        return list.compactMap { accessor in
            guard case .keyword(let keyword) = accessor.accessorSpecifier.tokenKind else {
                return nil
            }
            return keyword
        }
    }

    /// Whether the property is stored, not computed.
    var isStored: Bool {
        guard let block = binding.accessorBlock else { return true }
        if case .getter = block.accessors { return false }
        return accessors.allSatisfy { $0 == .willSet || $0 == .didSet }
    }

    /// Why the property cannot be set from a record; nil if it can.
    var trouble: String? {
        if variable.bindingSpecifier.tokenKind == .keyword(.let) {
            return "\(name) is a constant, and what comes from the cloud is written into it; make"
                + " it a variable, or mark it @CloudLocal."
        }
        if variable.modifiers.has(.lazy) {
            return "\(name) is lazy, so each device makes its own value; mark it @CloudLocal."
        }
        if !isStored, !accessors.contains(where: { $0 == .set || $0 == ._modify }) {
            return "\(name) has no setter, and what comes from the cloud is written into it; give"
                + " it one."
        }
        return nil
    }

    /// Why a record cannot hold the property, as far as its syntax shows; nil if nothing is wrong with it. The compiler
    /// finds the other cases.
    var typeTrouble: String? {
        guard let type else { return nil }
        return Self.trouble(name, type, depth: 0)
    }

    private static let foreign: Set<String> = [
        "Any", "AnyObject", "Character", "Decimal", "Dictionary", "Never", "Result", "Set",
        "Substring", "UUID", "Void",
    ]

    private static func trouble(_ name: String, _ type: TypeSyntax, depth: Int) -> String? {
        let unheld =
            "\(name) has values of the type \(type.trimmedDescription), which a record cannot"
            + " hold; mark it @CloudLocal, or give it another type."
        if let optional = type.as(OptionalTypeSyntax.self) {
            return depth > 0 ? unheld : trouble(name, optional.wrappedType, depth: 1)
        }
        if let list = type.as(ArrayTypeSyntax.self) {
            return depth > 1 ? unheld : trouble(name, list.element, depth: 2)
        }
        guard let named = type.as(IdentifierTypeSyntax.self) else {
            return type.is(MemberTypeSyntax.self) ? nil : unheld
        }
        if named.name.text == "URL" {
            return depth == 1
                ? nil
                : "The file \(name) is an asset, of which a field has one or none; declare it as URL?."
        }
        return foreign.contains(named.name.text) ? unheld : nil
    }

    /// The initial value, if it is a constant.
    var constant: String? {
        guard let value = binding.initializer?.value, Self.isConstant(value) else { return nil }
        return value.trimmedDescription
    }

    private static func isConstant(_ value: ExprSyntax) -> Bool {
        if let text = value.as(StringLiteralExprSyntax.self) {
            return text.representedLiteralValue != nil
        }
        if let list = value.as(ArrayExprSyntax.self) {
            return list.elements.allSatisfy { isConstant($0.expression) }
        }
        if let negative = value.as(PrefixOperatorExprSyntax.self) {
            return isConstant(negative.expression)
        }
        if let member = value.as(MemberAccessExprSyntax.self) {
            // A case of an enumeration; `.now` would be the time at which the map is first read.
            let name = member.declName.baseName.text
            return name != "now" && (member.base?.is(DeclReferenceExprSyntax.self) ?? true)
        }
        return value.is(IntegerLiteralExprSyntax.self) || value.is(FloatLiteralExprSyntax.self)
            || value.is(BooleanLiteralExprSyntax.self)
    }
}
