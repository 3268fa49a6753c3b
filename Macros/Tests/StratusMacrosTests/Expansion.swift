import StratusMacrosPlugin
import SwiftSyntaxMacroExpansion
import SwiftSyntaxMacrosGenericTestSupport
import Testing

private let macros: [String: MacroSpec] = [
    "CloudRecord": MacroSpec(
        type: CloudRecordMacro.self,
        conformances: ["CloudEntity", "CloudKeyed", "CloudCreatable"]),
    "CloudField": MacroSpec(type: MarkMacro.self),
    "CloudReference": MacroSpec(type: MarkMacro.self),
    "CloudLocal": MacroSpec(type: MarkMacro.self),
    "CloudIgnore": MacroSpec(type: MarkMacro.self),
    "CloudSyncID": MacroSpec(type: MarkMacro.self),
    "CloudChangeDate": MacroSpec(type: MarkMacro.self),
    "CloudPlaceholder": MacroSpec(type: MarkMacro.self),
]

/// Expands the macro in a source text.
func expectExpansion(
    of source: String, _ expected: String, problems: [DiagnosticSpec] = [],
    at location: SourceLocation = #_sourceLocation
) {
    assertMacroExpansion(
        source, expandedSource: expected, diagnostics: problems, macroSpecs: macros,
        failureHandler: { failure in
            Issue.record("\(failure.message)", sourceLocation: location)
        })
}

/// Expands the macro in a type that cannot be mapped: the type is left unchanged, and one error says why.
func expectProblem(
    _ sentence: String, line: Int, column: Int, in source: String, strippedOfMarks stripped: String,
    at location: SourceLocation = #_sourceLocation
) {
    expectExpansion(
        of: source, stripped,
        problems: [DiagnosticSpec(message: sentence, line: line, column: column)], at: location)
}
