import SwiftSyntax

/// A mark on a property, such as `@CloudLocal`.
struct Mark {
    enum Kind: String {
        case field = "CloudField"
        case reference = "CloudReference"
        case local = "CloudLocal"
        case ignore = "CloudIgnore"
        case syncID = "CloudSyncID"
        case changeDate = "CloudChangeDate"
        case placeholder = "CloudPlaceholder"
    }

    var kind: Kind
    var node: AttributeSyntax

    /// The marks of a variable; other attributes are ignored.
    static func all(of variable: VariableDeclSyntax) -> [Mark] {
        variable.attributes.compactMap { element in
            guard case .attribute(let node) = element else { return nil }
            let name = node.attributeName.trimmedDescription.split(separator: ".").last ?? ""
            return Kind(rawValue: String(name)).map { Mark(kind: $0, node: node) }
        }
    }
}

extension AttributeSyntax {
    /// The arguments of the attribute.
    var labelled: [LabeledExprSyntax] {
        guard case .argumentList(let list) = arguments else { return [] }
        return Array(list)
    }
}

extension DeclModifierListSyntax {
    func has(_ keyword: Keyword) -> Bool {
        contains { $0.name.tokenKind == .keyword(keyword) && $0.detail == nil }
    }
}
