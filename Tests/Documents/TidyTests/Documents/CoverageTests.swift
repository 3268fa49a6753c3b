import Testing

/// Documentation/coverage.md names, for every requirement, tests that exist, or says "not yet".
@Suite struct CoverageTests {
    static let path = "Documentation/coverage.md"
    static let counts = ["A": 20, "B": 6, "C": 17, "D": 8, "E": 5, "F": 12]

    struct Row {
        var line: Int
        var requirement: String
        var state: String
        /// As `Suite.function`, or a suite for the rest of its tests; for a program its path below Tests.
        var tests: [String]
    }

    static func rows(of text: String) -> [Row] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
            offset, line in
            let cells = line.split(separator: "|").map { $0.trimmed }
            guard cells.count >= 4, counts[String(cells[0].prefix(1))] != nil,
                Int(cells[0].dropFirst()) != nil
            else { return nil }
            let quoted = cells[3].split(separator: "`", omittingEmptySubsequences: false)
                .enumerated().filter { $0.offset % 2 == 1 }.map { String($0.element) }
            return Row(
                line: offset + 1, requirement: String(cells[0]), state: String(cells[2]),
                tests: quoted)
        }
    }

    static func violations(in rows: [Row], _ tests: TestIndex, programs: Set<String>) -> [Violation]
    {
        rows.flatMap { row -> [Violation] in
            func violation(_ sentence: String) -> Violation {
                Violation(path: path, line: row.line, sentence: "\(row.requirement): \(sentence)")
            }
            var found: [Violation] = []
            switch row.state {
            case "works", "partly":
                if row.tests.allSatisfy(tests.suites.contains) {
                    found.append(violation("name a test that shows it."))
                }
            case "not yet":
                if !row.tests.isEmpty {
                    found.append(violation("it is not there yet but names a test."))
                }
            default:
                found.append(violation("a state is works, partly or not yet."))
            }
            for test in row.tests
            where tests[test].isEmpty && !tests.suites.contains(test)
                && !programs.contains("Tests/" + test)
            {
                found.append(
                    violation(
                        "there is no test \(test); name one as Suite.function, or a program by "
                            + "its path below Tests."))
            }
            return found
        }
    }

    @Test func everyRequirementHasARow() throws {
        let expected = Self.counts.flatMap { letter, count in (1...count).map { "\(letter)\($0)" } }
        let rows = Self.rows(of: try Repository.text(Self.path))
        #expect(rows.map(\.requirement).sorted() == expected.sorted())
    }

    @Test func everyNamedTestExists() throws {
        let rows = Self.rows(of: try Repository.text(Self.path))
        let programs = Set(Repository.paths(below: "Tests/Clients"))
        expectNone(Self.violations(in: rows, .all, programs: programs))
    }

    @Test func everySuiteHasItsOwnName() {
        expectNone(TestIndex.all.repeatedSuites)
    }

    @Test func repeatedSuitesAreFound() {
        let files = [
            SourceText(path: "a.swift", "@Suite struct ATests { @Test func one() {} }"),
            SourceText(path: "b.swift", "extension ATests { @Test func two() {} }; struct B {}"),
            SourceText(path: "c.swift", "struct B {}\n@Suite struct ATests {}"),
        ]
        let found = TestIndex(files).repeatedSuites
        #expect(found.map(\.path) == ["c.swift"] && found.map(\.line) == [2])
    }

    @Test func missingTestsAreFound() {
        let file = SourceText(
            path: "a.swift", "@Suite struct ATests { @Test func one() {}; func two() {} }")
        let text = """
            | A1 | first | works | Said so. `ATests.one` `Clients/a.py` and the rest of `ATests` |
            | A2 | second | partly | `one` |
            | A3 | third | works | `ATests.two` |
            | A4 | fourth | works | It does. |
            | A5 | fifth | not yet | `ATests.one` |
            | A6 | sixth | perhaps | `Clients/b.py` |
            | A7 | seventh | works | `ATests` |
            """
        let found = Self.violations(
            in: Self.rows(of: text), TestIndex([file]), programs: ["Tests/Clients/a.py"])
        #expect(found.map(\.line) == [2, 3, 4, 5, 6, 6, 7])
    }
}

extension Substring {
    fileprivate var trimmed: Substring {
        var text = drop { $0 == " " }
        while text.last == " " { text.removeLast() }
        return text
    }
}
