import Testing

/// Counts code that is written twice.
///
/// A pair is two different places with at least six identical lines in a row, extended as far as they are
/// identical. Comments, blank lines, indentation, imports and lines of only brackets do not count.
@Suite struct DuplicateTests {
    static let linesOfRun = 6
    static let pairsInSources = 100
    static let pairsInTests = 60

    struct Place: Hashable {
        var path: String
        var line: Int
    }

    struct Pair: Hashable {
        var first: Place
        var second: Place
    }

    /// A line that counts, by the hash of its tokens.
    private struct Line {
        var number: Int
        var hash: Int
    }

    /// The index of a file and of a line among those that count.
    private struct Start {
        var file: Int
        var line: Int
    }

    private static let brackets: Set<String> = ["(", ")", "[", "]", "{", "}", ",", ";"]

    private static func lines(of file: SourceText) -> [Line] {
        var lines: [Line] = []
        var hasher = Hasher()
        var number = 0
        var counts = false
        var isImport = false
        func add(_ text: String, at line: Int, isBracket: Bool) {
            if line != number {
                if counts, !isImport { lines.append(Line(number: number, hash: hasher.finalize())) }
                (hasher, number, counts, isImport) = (Hasher(), line, false, false)
            }
            hasher.combine(text)
            if !isBracket { counts = true }
        }
        for token in file.code {
            if token.kind == .string, token.lastLine > token.line {
                let parts = token.text.split(separator: "\n", omittingEmptySubsequences: false)
                for (offset, part) in parts.enumerated() {
                    let text = String(part.drop { $0 == " " })
                    add(text, at: token.line + offset, isBracket: text.isEmpty)
                }
            } else {
                let isBracket = token.kind == .symbol && brackets.contains(token.text)
                add(token.text, at: token.line, isBracket: isBracket)
                if token.kind == .word, token.text == "import" { isImport = true }
            }
        }
        add("", at: number + 1, isBracket: true)
        return lines
    }

    static func pairs(in files: [SourceText]) -> [Pair] {
        let lines = files.map(Self.lines)
        var starts: [Int: [Start]] = [:]
        for file in lines.indices {
            let hashes = lines[file].map(\.hash)
            for line in hashes.indices.dropLast(linesOfRun - 1) {
                let run = hashes[line..<(line + linesOfRun)].hashValue
                starts[run, default: []].append(Start(file: file, line: line))
            }
        }
        func place(_ start: Start) -> Place {
            Place(path: files[start.file].path, line: lines[start.file][start.line].number)
        }
        // A later line of a run that began before is no pair of its own.
        func continues(_ first: Start, _ second: Start) -> Bool {
            first.line > 0 && second.line > 0
                && lines[first.file][first.line - 1].hash
                    == lines[second.file][second.line - 1].hash
        }
        var pairs: [Pair] = []
        for places in starts.values where places.count > 1 {
            for (index, first) in places.enumerated() {
                for second in places.dropFirst(index + 1) where !continues(first, second) {
                    let overlaps =
                        first.file == second.file && second.line - first.line < linesOfRun
                    if !overlaps { pairs.append(Pair(first: place(first), second: place(second))) }
                }
            }
        }
        return pairs
    }

    private func expect(_ pairs: [Pair], atMost bound: Int) {
        let places = pairs.map {
            "\($0.first.path):\($0.first.line) and \($0.second.path):\($0.second.line)"
        }
        #expect(
            pairs.count <= bound,
            "\(pairs.count) pairs of places have the same lines: \(places.sorted())")
    }

    @Test func sourcesHaveFewDuplicates() {
        expect(Self.pairs(in: Repository.sources), atMost: Self.pairsInSources)
    }

    @Test func testsHaveFewDuplicates() {
        expect(Self.pairs(in: Repository.tests), atMost: Self.pairsInTests)
    }

    @Test func plantedDuplicateIsFound() {
        let body = (1...7).map { "    let a\($0) = b(\"c\", \($0))" }
        let first = (["import A", "func first() {"] + body + ["}"]).joined(separator: "\n")
        let commented = body.map { "\($0)  // A comment.\n\n" }
        let second = (["func second() {", "    d()"] + commented + ["}"]).joined(separator: "\n")
        let short = (["func third() {"] + body.prefix(5) + ["}"]).joined(separator: "\n")
        let found = Self.pairs(in: [
            SourceText(path: "a.swift", first), SourceText(path: "b.swift", second),
            SourceText(path: "c.swift", short),
        ])
        #expect(
            found == [
                Pair(
                    first: Place(path: "a.swift", line: 3), second: Place(path: "b.swift", line: 3))
            ])
    }
}
