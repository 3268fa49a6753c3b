import SwiftSyntax
import SwiftSyntaxBuilder
import SwiftSyntaxMacros

/// The implementation of `@CloudRecord`.
public struct CloudRecordMacro: MemberMacro, ExtensionMacro {
    public static func expansion(
        of node: AttributeSyntax, providingMembersOf declaration: some DeclGroupSyntax,
        conformingTo protocols: [TypeSyntax], in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] {
        let type = MappedType(node, declaration)
        for problem in type.problems { context.diagnose(problem) }
        // With an incomplete map every object would count as changed.
        return type.problems.isEmpty ? type.members : []
    }

    public static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) throws -> [ExtensionDeclSyntax] {
        let mapped = MappedType(node, declaration)
        let lacking = Set(protocols.map(\.trimmedDescription))
        let names = mapped.protocols.filter { lacking.contains($0) }
        guard mapped.problems.isEmpty, !names.isEmpty else { return [] }
        return [
            try ExtensionDeclSyntax(
                "extension \(type.trimmed): \(raw: names.joined(separator: ", ")) {}")
        ]
    }
}

extension MappedType {
    /// The members that are added to the type.
    var members: [DeclSyntax] {
        let entity = kind == .fields ? "CloudObject<\(name)>" : name
        var lines = [
            "\(access)static let cloudMap: CloudMap<\(entity)> = CloudMap(\"\(recordType)\")"
        ]
        if let syncID { lines.append(".syncID(\\.\(syncID))") }
        if let changeDate {
            lines.append(".changeDate(\\.\(changeDate.property), \"\(changeDate.field)\")")
        }
        lines += properties.map(\.call)
        lines += ignores.map { ".ignore(when: \\.\($0))" }
        if let placeholder { lines.append(".placeholder(\(placeholder))") }
        if isWeak { lines.append(".weak()") }
        var members: [DeclSyntax] = ["\(raw: lines.joined(separator: "\n    "))"]
        if kind == .value, !declares("syncID"), syncID == nil {
            members.append("\(raw: access)var syncID: String? = UUID().uuidString")
        }
        if kind == .value, !declares("changeDate"), changeDate == nil {
            members.append("\(raw: access)var changeDate: Date?")
        }
        return members
    }

    /// The protocols to which the type conforms.
    var protocols: [String] {
        guard kind != .fields else { return [] }
        // `CloudEntity` follows from the others, but the compiler looks for it while it checks the map.
        var protocols = ["CloudEntity"]
        if syncID == nil || changeDate == nil { protocols.append("CloudKeyed") }
        if isCreatable { protocols.append("CloudCreatable") }
        return protocols
    }
}

extension MappedProperty {
    /// The property's line of the map.
    var call: String {
        if let target {
            return
                ".\(isList ? "references" : "reference")(\\.\(name), to: \(target), \"\(field)\")"
        }
        return ".property(\\.\(name), \"\(field)\"\(missing.map { ", default: \($0)" } ?? ""))"
    }
}
