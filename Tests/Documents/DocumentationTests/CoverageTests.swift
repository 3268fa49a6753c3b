import Foundation
import Testing

/// Documentation/coverage.md names, for every requirement, tests that exist, or says "not yet".
@Suite struct CoverageTests {
    static let counts = ["A": 20, "B": 6, "C": 17, "D": 8, "E": 5]

    struct Row {
        let requirement: String
        let state: String
        let tests: [String]
    }

    static func rows() throws -> [Row] {
        try SnippetTests.text("Documentation/coverage.md").split(separator: "\n").compactMap {
            line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count >= 4, counts[String(cells[0].prefix(1))] != nil,
                Int(cells[0].dropFirst()) != nil
            else { return nil }
            let tests = cells[3].matches(of: /`([^`]+)`/).map { String($0.output.1) }
            return Row(requirement: cells[0], state: cells[2], tests: tests)
        }
    }

    @Test func everyRequirementHasARow() throws {
        let expected = Self.counts.flatMap { letter, count in (1...count).map { "\(letter)\($0)" } }
        #expect(try Self.rows().map(\.requirement).sorted() == expected.sorted())
    }

    @Test func everyNamedTestExists() throws {
        // Functions and suites by their whole names, and programs by their files'.
        var names: Set<String> = []
        let tests = SnippetTests.root.appendingPathComponent("Tests")
        for case let path as String in FileManager.default.enumerator(atPath: tests.path) ?? .init()
        where path.hasSuffix(".swift") || path.hasSuffix(".py") {
            let text = try String(contentsOf: tests.appendingPathComponent(path), encoding: .utf8)
            for match in text.matches(of: /(?:func|def|struct|class) +(\w+)/) {
                names.insert(String(match.output.1))
            }
            names.insert(path)
        }
        for row in try Self.rows() {
            switch row.state {
            case "works", "partly":
                #expect(!row.tests.isEmpty, "\(row.requirement) names no test")
            case "not yet":
                #expect(row.tests.isEmpty, "\(row.requirement) is not there yet but names a test")
            default:
                Issue.record("\(row.requirement): a state is works, partly or not yet")
            }
            for test in row.tests {
                let isThere = names.contains(test)
                #expect(isThere, "\(row.requirement): there is no \(test)")
            }
        }
    }
}
