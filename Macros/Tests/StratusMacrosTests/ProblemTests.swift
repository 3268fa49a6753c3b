import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// What cannot be mapped: one sentence, at its place.
@Suite struct ProblemTests {
    struct Case: Sendable, CustomTestStringConvertible {
        var variable: String
        var sentence: String
        var column = 9
        /// The variable without its mark.
        var stripped: String?
        var testDescription: String { variable }
    }

    @Test(arguments: [
        Case(
            variable: "let name: String",
            sentence: "Make name a variable, or mark it @CloudLocal: what comes from the cloud is"
                + " written into it."),
        Case(
            variable: "lazy var name = 1",
            sentence: "Mark name @CloudLocal: a lazy property is made on this device.", column: 14),
        Case(
            variable: "var names: [String: Int] = [:]",
            sentence: "Mark names @CloudLocal, or give it another type: a record holds no"
                + " [String: Int].", column: 16),
        Case(
            variable: "var names: [Int?] = []",
            sentence: "Mark names @CloudLocal, or give it another type: a record holds no Int?.",
            column: 16),
        Case(
            variable: "var pair: (Int, Int) = (1, 2)",
            sentence:
                "Mark pair @CloudLocal, or give it another type: a record holds no (Int, Int).",
            column: 15),
        Case(
            variable: "var photo: URL",
            sentence:
                "Declare photo as URL?: a file is an asset, one to a field, and may be absent.",
            column: 16),
        Case(
            variable: "var (a, b) = (1, 2)",
            sentence: "Declare the properties one by one, each with a name."),
        Case(
            variable: "@CloudField(\"a b\") var name = 1",
            sentence: "Name the field by a letter, then letters, digits and underscores.",
            column: 17,
            stripped: "var name = 1"),
        Case(
            variable: "@CloudField var name: Int { 1 }",
            sentence: "Give name a setter: what comes from the cloud is written into it.",
            column: 21,
            stripped: "var name: Int { 1 }"),
        Case(
            variable: "@CloudReference(to: Valley.self) var ids = [String]()",
            sentence: "Declare ids as String? or [String]: it holds sync IDs.", column: 42,
            stripped: "var ids = [String]()"),
        Case(
            variable: "@CloudField(\"other\") var name = 1",
            sentence: "Name the field of name otherwise: other is taken.", column: 30,
            stripped: "var name = 1"),
        Case(
            variable: "var _name = 1",
            sentence: "Name the field of _name with @CloudField: a field's name is a letter, then"
                + " letters, digits and underscores."),
        Case(
            variable: "@CloudPlaceholder var name = 1",
            sentence: "Make name static: the placeholder stands for all absent objects.",
            column: 27,
            stripped: "var name = 1"),
        Case(
            variable: "@CloudLocal static let name = 1",
            sentence: "Mark a property of each object: name is static.", column: 5,
            stripped: "static let name = 1"),
        Case(
            variable: "@CloudLocal @CloudField var name = 1",
            sentence: "Mark name once: its marks contradict each other.", column: 17,
            stripped: "var name = 1"),
    ])
    func unmappablePropertyIsAnErrorAtItsPlace(given: Case) {
        let stripped = given.stripped ?? given.variable
        expectProblem(
            given.sentence, line: 4, column: given.column,
            in: """
                @CloudRecord
                struct Hut {
                    var other = ""
                    \(given.variable)
                }
                """,
            strippedOfMarks: """
                struct Hut {
                    var other = ""
                    \(stripped)
                }
                """)
    }

    @Test func typesThatCannotBeMappedAreErrors() {
        expectTypeProblem(
            "Put @CloudRecord on a struct or on a final class.", line: 1, column: 1,
            before: "@CloudRecord", type: "enum Hut {\n    case small\n}")
        expectTypeProblem(
            "Map a type without generic parameters: Hut has some.", line: 2, column: 11,
            before: "@CloudRecord", type: "struct Hut<Kind> {\n    var name = 1\n}")
        expectTypeProblem(
            "Give Hut a variable: a record without fields has nothing to sync.", line: 1, column: 1,
            before: "@CloudRecord", type: "struct Hut {\n}")
        expectTypeProblem(
            "Name the record type by a letter, then letters, digits and underscores.", line: 1,
            column: 14, before: "@CloudRecord(\"9 lives\")",
            type: "struct Hut {\n    var name = 1\n}")
        expectTypeProblem(
            "Rename syncID: the CloudObject around these properties has it.", line: 3, column: 9,
            before: "@CloudRecord",
            type: "struct HutFields: CloudFields {\n    var syncID: String?\n}")
    }

    private func expectTypeProblem(
        _ sentence: String, line: Int, column: Int, before mark: String, type: String,
        at location: SourceLocation = #_sourceLocation
    ) {
        expectProblem(
            sentence, line: line, column: column, in: "\(mark)\n\(type)", strippedOfMarks: type,
            at: location)
    }

    @Test func everyMistakeOfATypeIsReported() {
        let declare = "or mark the property that holds the"
        expectExpansion(
            of: """
                @CloudRecord
                class Tool {
                    @CloudField var label: String { get { "" } set {} }
                }
                """,
            """
            class Tool {
                var label: String { get { "" } set {} }
            }
            """,
            problems: [
                DiagnosticSpec(
                    message: "Make the class Tool final: its objects sync from any thread.",
                    line: 2,
                    column: 7),
                DiagnosticSpec(
                    message: "Declare syncID in Tool, \(declare) sync ID @CloudSyncID.", line: 2,
                    column: 7),
                DiagnosticSpec(
                    message: "Declare changeDate in Tool, \(declare) date of the last change"
                        + " @CloudChangeDate.", line: 2, column: 7),
            ])
    }
}
