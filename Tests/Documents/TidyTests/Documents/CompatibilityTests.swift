import Testing

/// Documentation/Compatibility.md lists each of Apple's symbols with its state, and the tests that
/// show it.
@Suite struct CompatibilityTests {
    enum State: String, CaseIterable {
        case works
        case notYet = "not yet"
        case never
        case ours
    }

    struct Row {
        var line: Int
        /// The symbols, as the document spells them; several are variants of one member.
        var symbols: [String]
        var state: String
        /// As `Suite.function`.
        var tests: [String]
    }

    static let path = "Documentation/Compatibility.md"

    /// The tables with four columns; those below "How errors arrive" have two.
    static func rows(of text: String) -> [Row] {
        text.split(separator: "\n", omittingEmptySubsequences: false).enumerated().compactMap {
            offset, line in
            guard line.hasPrefix("| ") else { return nil }
            let cells = line.dropFirst().dropLast()
                .split(separator: "|", omittingEmptySubsequences: false)
            guard cells.count == 4, !cells[0].hasPrefix(" symbol") else { return nil }
            return Row(
                line: offset + 1, symbols: quoted(cells[0]),
                state: String(cells[1].dropFirst().dropLast()), tests: quoted(cells[3]))
        }
    }

    /// The texts in back quotes.
    private static func quoted(_ cell: Substring) -> [String] {
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .filter { $0.offset % 2 == 1 }.map { String($0.element) }
    }

    /// The member's name without its type and arguments; for an initializer the type's name, for a nested
    /// type its own.
    static func bareName(_ symbol: String) -> String {
        let head = symbol.prefix { $0 != "(" && $0 != ":" && $0 != " " }
        var parts = head.split(separator: ".").map(String.init)
        if parts.last == "init" || parts.last == "subscript" { parts.removeLast() }
        return parts.last ?? symbol
    }

    static func violations(in rows: [Row], _ tests: TestIndex) -> [Violation] {
        var reaches: [String: Reach] = [:]
        return rows.flatMap { row -> [Violation] in
            func violation(_ sentence: String) -> Violation {
                Violation(path: path, line: row.line, sentence: sentence)
            }
            let symbol = row.symbols.first ?? ""
            guard State(rawValue: row.state) != nil, !row.symbols.isEmpty else {
                return [violation("\(symbol): a state is works, not yet, never or ours.")]
            }
            guard row.state == State.works.rawValue else { return [] }
            guard !row.tests.isEmpty else {
                return [violation("\(symbol): name a test that uses it.")]
            }
            let missing = row.tests.filter { tests[$0].isEmpty }
            guard missing.isEmpty else {
                return missing.map {
                    violation("\(symbol): there is no test \($0); name one as Suite.function.")
                }
            }
            let ofTests = row.tests.map { test in
                let reach = reaches[test] ?? Reach(tests[test])
                reaches[test] = reach
                return reach
            }
            return row.symbols.filter { name in !ofTests.contains { $0.has(name) } }.map {
                violation(
                    "\($0): \(row.tests.joined(separator: ", ")) does not use it; name a test that "
                        + "does.")
            }
        }
    }

    @Test func everyWorkingSymbolIsUsedByANamedTest() throws {
        expectNone(Self.violations(in: Self.rows(of: try Repository.text(Self.path)), .all))
    }

    @Test func rowsWithoutUseOfSymbolAreFound() {
        let file = SourceText(
            path: "a.swift",
            """
            @Suite struct ATests {
                @Test(arguments: [CKThing.Kind.one]) func uses(_ kind: CKThing.Kind) { b() }
                func b() { CKThing().member = 1 }
                func c() { CKThing().other = 1 }
                @Test func asks() { NSPredicate(format: "near:to:(place, 1)") }
            }
            """)
        let text = """
            | symbol | state | note | test |
            | `CKThing.Kind.one` | works | | `ATests.uses` |
            | `CKThing.member` | works | | `ATests.uses` |
            | `CKThing.other` | works | | `ATests.uses` |
            | `CKThing.init()` | works | | `ATests.gone` |
            | `CKThing.init()` | works | |  |
            | `CKThing.init()` | never | |  |
            | `CKThing.init()` | maybe | |  |
            | `near:to:` | works | | `ATests.asks` |
            | `far:from:` | works | | `ATests.asks` |
            | `CKThing.member`, `CKThing.gone` | works | | `ATests.uses` |
            | `CKThing.member`, `near:to:` | works | | `ATests.uses` `ATests.asks` |
            """
        let found = Self.violations(in: Self.rows(of: text), TestIndex([file]))
        #expect(found.map(\.line) == [4, 5, 6, 8, 10, 11])
    }
}

/// The words and strings that a test uses.
private struct Reach {
    var words: Set<String>
    var strings: [String]

    init(_ tests: [TestIndex.Test]) {
        let tokens = tests.flatMap { $0.reach() }
        words = Set(tokens.lazy.filter { $0.kind == .word }.map(\.text))
        strings = tokens.filter { $0.kind == .string }.map(\.text)
    }

    /// Whether a test uses a symbol: by its bare name in code or, if it is a predicate's function, by its
    /// whole name in a format.
    func has(_ symbol: String) -> Bool {
        if words.contains(CompatibilityTests.bareName(symbol)) { return true }
        guard !symbol.contains("."), symbol.contains(where: { $0 == ":" || $0 == " " }) else {
            return false
        }
        return strings.contains { $0.contains(symbol) }
    }
}
