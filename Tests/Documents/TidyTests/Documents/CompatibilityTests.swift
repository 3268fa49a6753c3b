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
            return row.symbols.map(AppleSymbol.init).filter { symbol in
                !ofTests.contains { $0.has(symbol) } || !ofTests.contains { $0.names(symbol) }
            }.map {
                violation(
                    "\($0.text): \(row.tests.joined(separator: ", ")) does not use it with these "
                        + "arguments, or is in a file without its type; name a test that does.")
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
                @Test func saves() { CKThing().save(one, atOnce: all(in: 1)) { _ in } }
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
            | `CKThing.save(_:atOnce:completionHandler:)` | works | | `ATests.saves` |
            | `CKThing.save(_:later:completionHandler:)` | works | | `ATests.saves` |
            | `CKThing.save(_:)` | works | | `ATests.saves` |
            | `CKOther.save(_:atOnce:)` | works | | `ATests.saves` |
            """
        let found = Self.violations(in: Self.rows(of: text), TestIndex([file]))
        #expect(found.map(\.line) == [4, 5, 6, 8, 10, 11, 14, 15, 16])
    }
}

/// A symbol as Documentation/Compatibility.md spells it, such as `CKDatabase.save(_:completionHandler:)`.
private struct AppleSymbol {
    let text: String
    /// The names of the types around it, the outermost first.
    let types: [String]
    /// The member's name without its type and arguments; for an initializer the type's name, for a nested type its own.
    let name: String
    let isInitializer: Bool
    /// The labels of its arguments, `_` for an argument without one; nil for a property, a type or a subscript.
    let labels: [String]?

    init(_ text: String) {
        self.text = text
        let head = text.prefix { $0 != "(" && $0 != ":" && $0 != " " }
        var parts = head.split(separator: ".").map(String.init)
        types = Array(parts.dropLast())
        let isSubscript = parts.last == "subscript"
        isInitializer = parts.last == "init"
        if isInitializer || isSubscript { parts.removeLast() }
        name = parts.last ?? text
        let arguments = text[head.endIndex...]
        labels =
            isSubscript || !arguments.hasPrefix("(")
            ? nil
            : arguments.dropFirst().prefix { $0 != ")" }.split(separator: ":").map(String.init)
    }

    /// Whether Foundation's coders call it, and tests only name the type.
    var isCalledByCoders: Bool {
        text.hasSuffix(".init(coder:)") || text.hasSuffix(".encode(with:)")
    }

    /// Whether a call can be one of this symbol: it has no other labels, and at least one, as arguments with defaults
    /// may be missing. A closure after the call is its last argument.
    func matches(_ call: Reach.Call) -> Bool {
        guard let labels, let last = labels.last else { return true }
        let named = labels.filter { $0 != "_" }
        guard call.labels.allSatisfy({ named.contains($0) }) else { return false }
        if last.hasSuffix("Handler"), !call.hasClosure, !call.labels.contains(last) { return false }
        return named.isEmpty || labels[0] == "_" || !call.labels.isEmpty
            || labels.count == 1 && call.hasClosure
    }
}

/// The code that a test uses.
private struct Reach {
    /// The arguments of a call.
    struct Call {
        var labels: [String] = []
        var hasClosure = false
    }

    private let tokens: [SourceText.Token]
    /// The places of each word in `tokens`.
    private let places: [String: [Int]]
    private let strings: [String]
    /// The words of the tests' whole files.
    private let wordsOfFiles: Set<String>

    init(_ tests: [TestIndex.Test]) {
        tokens = tests.flatMap { $0.reach() }
        var places: [String: [Int]] = [:]
        for index in tokens.indices where tokens[index].kind == .word {
            places[tokens[index].text, default: []].append(index)
        }
        self.places = places
        strings = tokens.filter { $0.kind == .string }.map(\.text)
        wordsOfFiles = tests.reduce(into: []) { $0.formUnion($1.file.words) }
    }

    /// Whether a test's file has the name of the symbol's type, or of one around that.
    func names(_ symbol: AppleSymbol) -> Bool {
        symbol.types.isEmpty || symbol.types.contains(where: wordsOfFiles.contains)
    }

    /// Whether a test uses a symbol: in code or, if it is a predicate's function, by its whole name in a format.
    func has(_ symbol: AppleSymbol) -> Bool {
        if symbol.isCalledByCoders { return symbol.types.last.map { places[$0] != nil } ?? false }
        let found = places[symbol.name] ?? []
        if !found.isEmpty, symbol.labels == nil { return true }
        if found.contains(where: { symbol.matches(call(at: $0)) }) { return true }
        if symbol.isInitializer, !found.isEmpty {
            let calls = (places["init"] ?? []).filter { text($0 - 1) == "." }
            if calls.contains(where: { symbol.matches(call(at: $0)) }) { return true }
        }
        guard symbol.types.isEmpty, symbol.text.contains(where: { $0 == ":" || $0 == " " }) else {
            return false
        }
        return strings.contains { $0.contains(symbol.text) }
    }

    private func text(_ index: Int) -> String {
        tokens.indices.contains(index) ? tokens[index].text : ""
    }

    /// The call of the word at `index`; without arguments if it is not called.
    private func call(at index: Int) -> Call {
        var place = index + 1
        if text(place) == "<" {
            while place < tokens.count, text(place) != "(" { place += 1 }
        }
        var call = Call()
        var depth = 0
        if text(place) == "(" {
            repeat {
                let token = tokens[place]
                if token.kind == .symbol {
                    depth += ["(", "[", "{"].contains(token.text) ? 1 : 0
                    depth -= [")", "]", "}"].contains(token.text) ? 1 : 0
                } else if token.kind == .word, depth == 1, text(place + 1) == ":",
                    ["(", ","].contains(text(place - 1))
                {
                    call.labels.append(token.text)
                }
                place += 1
            } while depth > 0 && place < tokens.count
        }
        call.hasClosure = text(place) == "{"
        return call
    }
}
