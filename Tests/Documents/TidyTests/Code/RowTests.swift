import Testing

/// A device's file may be damaged. GRDB's subscripts of rows end the process if a column is NULL or has
/// another type; its `decode` throws.
@Suite struct RowTests {
    static func violations(in file: SourceText) -> [Violation] {
        guard file.words.contains("GRDB") else { return [] }
        let rows = RowNames(file)
        return file.code.indices.dropLast().filter { file.code[$0 + 1].text == "[" }
            .filter { rows.isRow(at: $0) }
            .map { index in
                let (line, name) = (file.code[index].line, file.code[index].text)
                return Violation(
                    path: file.path, line: line,
                    sentence: "\(name)[…] ends the process when the column is damaged: use try "
                        + "\(name).decode(atIndex:).")
            }
    }

    @Test func columnsAreDecoded() {
        expectNone(
            Repository.sources.filter { $0.path.hasPrefix("Sources/Device/") }
                .flatMap(Self.violations))
    }

    @Test func subscriptsOfRowsAreFound() {
        let text = """
            import GRDB
            func a(_ row: Row, _ other: Row, _ names: [String]) throws {
                let b: Int = row[0]
                let c = other["name"] as String?
                let d: Int = try row.decode(atIndex: 0)
                let e = try Row.fetchAll(f, sql: "SELECT 1").map { $0[0] as Int }
                let g = try Row.fetchAll(f).filter { try $0.decode(atIndex: 0) }.map { $0.h[0] }
                let i = try Row.fetchAll(f)
                let j = i.map { K($0[1]) }
                let l = i[0]
                while let next = try m.next() { n[next[0]] = names[0] }
                for p in try Row.fetchAll(f) { q += p[0] }
                guard let r = try Row.fetchOne(f), s.map({ $0[0] }) == r[0] else { return }
            }
            """
        let found = Self.violations(in: SourceText(path: "a.swift", text))
        #expect(found.map(\.line) == [3, 4, 6, 9, 11, 12, 13])
        #expect(
            found.first?.description
                == "a.swift:3: row[…] ends the process when the column is damaged: use try "
                + "row.decode(atIndex:).")
        let other = SourceText(path: "a.swift", "let row = [1]; let b = row[0]")
        #expect(Self.violations(in: other).isEmpty)
    }
}

/// The names that stand for a row in a file, as far as its tokens show.
private struct RowNames {
    private let file: SourceText
    private var names: Set<String> = ["row"]
    /// The places of `$0` in closures that get the rows of a query.
    private var places: Set<Int> = []

    init(_ file: SourceText) {
        self.file = file
        let code = file.code
        var lists: Set<String> = []
        for index in code.indices.dropLast(2) {
            if code[index].text == ":", code[index + 1].text == "Row" {
                names.insert(code[index - 1].text)
            }
            if code[index].text == ".", code[index + 1].text == "next" {
                names.formUnion(name(boundAt: index - 1))
            }
            guard code[index].text == "Row", code[index + 1].text == "." else { continue }
            let isLoop = name(boundAt: index, by: "in")
            let bound = name(boundAt: index)
            names.formUnion(isLoop)
            if code[index + 2].text == "fetchOne" {
                names.formUnion(bound)
            } else {
                lists.formUnion(bound)
            }
            if let end = file.end(of: index + 3) { note(closureBehind: end) }
        }
        for index in code.indices where lists.contains(code[index].text) {
            note(closureBehind: index)
        }
    }

    func isRow(at index: Int) -> Bool {
        let text = file.code[index].text
        let isMember = index > 0 && file.code[index - 1].text == "."
        return places.contains(index) || names.contains(text) && !isMember
    }

    /// The name that a declaration or loop binds to the expression that begins here.
    private func name(boundAt index: Int, by sign: String = "=") -> [String] {
        var before = index - 1
        if before >= 0, file.code[before].text == "try" { before -= 1 }
        guard before > 0, file.code[before].text == sign else { return [] }
        return [file.code[before - 1].text]
    }

    private mutating func note(closureBehind index: Int) {
        let code = file.code
        guard index + 3 < code.count, code[index + 1].text == "." else { return }
        let opening = code[index + 3].text == "(" ? index + 4 : index + 3
        guard opening < code.count, code[opening].text == "{", let end = file.end(of: opening)
        else { return }
        places.formUnion((opening...end).filter { code[$0].text == "$0" })
    }
}
