import Foundation
import Testing

/// Documentation/Compatibility.md says of every symbol of Apple's whether it works, and which test
/// shows it.
@Suite struct CompatibilityTests {
    enum State: String, CaseIterable {
        case works
        case notYet = "not yet"
        case never
        case ours
    }

    struct Row {
        /// The symbols, as the document spells them; several are forms of one member.
        let symbols: [String]
        let state: String
        /// Tests as `Suite.function`, files as `Name.swift`.
        let tests: [String]

        var name: String { symbols.joined(separator: ", ") }
    }

    static let folders = [
        "StratusClientTests", "StratusSyncTests", "StratusCacheTests", "DocumentPrograms",
        "DocumentationTests", "JourneyTests",
    ]

    /// The tables with four columns; those below "How errors arrive" have two.
    static func rows() throws -> [Row] {
        try SnippetTests.text("Documentation/Compatibility.md").split(separator: "\n").compactMap {
            line in
            guard line.hasPrefix("| ") else { return nil }
            let cells = line.dropFirst().dropLast().split(
                separator: "|", omittingEmptySubsequences: false
            ).map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, cells[0] != "symbol" else { return nil }
            return Row(symbols: spans(cells[0]), state: cells[1], tests: spans(cells[3]))
        }
    }

    /// What stands in back quotes.
    private static func spans(_ cell: String) -> [String] {
        cell.matches(of: /`([^`]+)`/).map { String($0.output.1) }
    }

    /// The texts of the tests by file name, those of the first folders first.
    static func files() throws -> [String: String] {
        var files: [String: String] = [:]
        for folder in folders {
            let place = SnippetTests.root.appendingPathComponent("Tests/\(folder)")
            for case let path as String in FileManager.default.enumerator(atPath: place.path)
                ?? .init()
            where path.hasSuffix(".swift") {
                let url = place.appendingPathComponent(path)
                if files[url.lastPathComponent] == nil, path != "CompatibilityTests.swift" {
                    files[url.lastPathComponent] = try String(contentsOf: url, encoding: .utf8)
                }
            }
        }
        return files
    }

    /// The member's name without its type and arguments; of an initialiser the type's, of a nested
    /// type its own.
    static func bareName(_ symbol: String) -> String {
        let head = symbol.prefix { $0 != "(" && $0 != ":" && $0 != " " }
        var parts = head.split(separator: ".").map(String.init)
        if parts.last == "init" || parts.last == "subscript" { parts.removeLast() }
        return parts.last ?? symbol
    }

    @Test func everyStateIsOneOfFour() throws {
        let words = Set(State.allCases.map(\.rawValue))
        for row in try Self.rows() {
            #expect(words.contains(row.state), "\(row.name): \(row.state)")
            #expect(!row.symbols.isEmpty)
        }
    }

    @Test func whatWorksIsInTheTestThatItNames() throws {
        let files = try Self.files()
        for row in try Self.rows() where row.state == State.works.rawValue {
            #expect(row.tests.contains { !$0.hasSuffix(".swift") }, "\(row.name) names no test")
            var text = ""
            for test in row.tests {
                let isFile = test.hasSuffix(".swift")
                let parts = test.split(separator: ".").map(String.init)
                let file = isFile ? test : "\(parts.first ?? "").swift"
                let found = files[file]
                let isThere =
                    isFile
                    ? found != nil : found?.contains("func \(parts.last ?? test)(") == true
                #expect(isThere, "\(row.name): there is no \(test)")
                text += found ?? ""
            }
            let names = row.symbols.map(Self.bareName)
            let isNamed = names.contains { name in
                text.ranges(of: name).contains { Self.isWord($0, in: text) }
            }
            #expect(isNamed, "\(row.name): not in \(row.tests)")
        }
    }

    /// Whether no letter, digit or underscore touches the place.
    private static func isWord(_ range: Range<String.Index>, in text: String) -> Bool {
        func joins(_ character: Character) -> Bool {
            character.isLetter || character.isNumber || character == "_"
        }
        let before = range.lowerBound > text.startIndex ? text.index(before: range.lowerBound) : nil
        return !(before.map { joins(text[$0]) } ?? false)
            && !(range.upperBound < text.endIndex && joins(text[range.upperBound]))
    }

    @Test func nearlyEverythingWorks() throws {
        let states = try Self.rows().map(\.state)
        let counts = Dictionary(grouping: states) { $0 }.mapValues(\.count)
        let (works, notYet) = (counts["works"] ?? 0, counts["not yet"] ?? 0)
        print(
            "Compatibility: \(states.count) rows, \(works) work, \(notYet) not yet,",
            "\(counts["never"] ?? 0) never, \(counts["ours"] ?? 0) ours")
        #expect(works > 700)
        #expect(Double(works) >= 0.95 * Double(works + notYet))
    }
}
