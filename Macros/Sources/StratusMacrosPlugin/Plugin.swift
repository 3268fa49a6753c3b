import SwiftCompilerPlugin
import SwiftSyntax
import SwiftSyntaxMacros

@main
struct StratusMacrosPlugin: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [CloudRecordMacro.self, MarkMacro.self]
}

/// The implementation of the marks on properties, which generate no code themselves.
public struct MarkMacro: PeerMacro {
    public static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) throws -> [DeclSyntax] { [] }
}
