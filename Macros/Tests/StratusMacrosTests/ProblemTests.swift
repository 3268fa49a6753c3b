import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// A type or property that cannot be mapped is an error in its line.
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
            sentence: "name is a constant, and what comes from the cloud is written into it; make"
                + " it a variable, or mark it @CloudLocal."),
        Case(
            variable: "lazy var name = 1",
            sentence: "name is lazy, so each device makes its own value; mark it @CloudLocal.",
            column: 14),
        Case(
            variable: "var names: [String: Int] = [:]",
            sentence: "names has values of the type [String: Int], which a record cannot hold;"
                + " mark it @CloudLocal, or give it another type.", column: 16),
        Case(
            variable: "var names: [Int?] = []",
            sentence: "names has values of the type Int?, which a record cannot hold; mark it"
                + " @CloudLocal, or give it another type.", column: 16),
        Case(
            variable: "var pair: (Int, Int) = (1, 2)",
            sentence:
                "pair has values of the type (Int, Int), which a record cannot hold; mark it"
                + " @CloudLocal, or give it another type.", column: 15),
        Case(
            variable: "var photo: URL",
            sentence:
                "The file photo is an asset, of which a field has one or none; declare it as URL?.",
            column: 16),
        Case(
            variable: "var (a, b) = (1, 2)",
            sentence: "Several properties are declared as one; declare each with its own name."),
        Case(
            variable: "@CloudField(\"a b\") var name = 1",
            sentence: "“a b” cannot be the name of a field; write a letter, then letters, digits"
                + " and underscores.", column: 17,
            stripped: "var name = 1"),
        Case(
            variable: "@CloudField var name: Int { 1 }",
            sentence: "name has no setter, and what comes from the cloud is written into it; give"
                + " it one.", column: 21,
            stripped: "var name: Int { 1 }"),
        Case(
            variable: "@CloudReference(to: Valley.self) var ids = [String]()",
            sentence: "ids is for sync IDs, and is neither String? nor [String]; declare it as"
                + " one of these.", column: 42,
            stripped: "var ids = [String]()"),
        Case(
            variable: "@CloudField(\"other\") var name = 1",
            sentence: "The field's name other is taken; give the field of name another one.",
            column: 30,
            stripped: "var name = 1"),
        Case(
            variable: "var _name = 1",
            sentence: "_name cannot be the name of a field; give the field another one with"
                + " @CloudField: a letter, then letters, digits and underscores."),
        Case(
            variable: "@CloudPlaceholder var name = 1",
            sentence:
                "name is not static, and the placeholder is one for all absent objects; make it static.",
            column: 27,
            stripped: "var name = 1"),
        Case(
            variable: "@CloudLocal static let name = 1",
            sentence:
                "name is static, and its mark is for a property of each object; remove the mark.",
            column: 5,
            stripped: "static let name = 1"),
        Case(
            variable: "@CloudLocal @CloudField var name = 1",
            sentence: "name has several marks, which contradict each other; keep one.", column: 17,
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
            "@CloudRecord is on something other than a struct or a class; put it on a struct or"
                + " a final class.", line: 1, column: 1,
            before: "@CloudRecord", type: "enum Hut {\n    case small\n}")
        expectTypeProblem(
            "Hut has generic parameters, with which no type can be mapped; remove them.", line: 2,
            column: 11,
            before: "@CloudRecord", type: "struct Hut<Kind> {\n    var name = 1\n}")
        expectTypeProblem(
            "Hut has no variable, and a record without fields has nothing to sync; give it one.",
            line: 1, column: 1,
            before: "@CloudRecord", type: "struct Hut {\n}")
        expectTypeProblem(
            "“9 lives” cannot be the name of a record type; write a letter, then letters, digits and"
                + " underscores.", line: 1, column: 14, before: "@CloudRecord(\"9 lives\")",
            type: "struct Hut {\n    var name = 1\n}")
        expectTypeProblem(
            "The CloudObject around these properties has syncID already; rename this one.", line: 3,
            column: 9,
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
        let mark = "declare it, or mark the property that holds the"
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
                    message:
                        "The class Tool is not final, and its objects sync from any thread; make it final.",
                    line: 2, column: 7),
                DiagnosticSpec(
                    message: "Tool has no syncID; \(mark) sync ID @CloudSyncID.", line: 2,
                    column: 7),
                DiagnosticSpec(
                    message: "Tool has no changeDate; \(mark) date of the last change"
                        + " @CloudChangeDate.", line: 2, column: 7),
            ])
    }
}
