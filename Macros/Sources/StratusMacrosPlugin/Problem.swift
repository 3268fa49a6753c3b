import SwiftDiagnostics
import SwiftSyntax

/// An error in a type that cannot be mapped.
struct Problem: DiagnosticMessage {
    let message: String
    var diagnosticID: MessageID { MessageID(domain: "Stratus", id: "CloudRecord") }
    var severity: DiagnosticSeverity { .error }
}

extension Diagnostic {
    static func problem(_ sentence: String, at place: some SyntaxProtocol) -> Diagnostic {
        Diagnostic(node: Syntax(place), message: Problem(message: sentence))
    }
}

/// The rule for names of fields and record types.
enum FieldName {
    /// Whether the name is a letter followed by letters, digits and underscores.
    static func isValid(_ name: String) -> Bool {
        guard let first = name.utf8.first, isLetter(first) else { return false }
        return name.utf8.dropFirst().allSatisfy {
            isLetter($0) || $0 == 0x5F || (0x30...0x39) ~= $0
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x41...0x5A) ~= byte || (0x61...0x7A) ~= byte
    }
}
