import Testing

/// A task-local value must not be a bare closure: with Swift 6.3 an optimized build has no metadata for such a
/// value and crashes at its first use, and no test here runs an optimized build.
@Suite struct TaskLocalTests {
    static func violations(in file: SourceText, closures: Set<String>) -> [Violation] {
        let code = file.code
        return code.indices.compactMap { index in
            guard code[index].text == "TaskLocal", index > 0, code[index - 1].text == "@",
                let name = code[index...].firstIndex(where: { $0.text == "var" })
            else { return nil }
            let end = code[name...].firstIndex {
                $0.text == "=" || $0.line > code[name].line
            }
            let declared = code[name..<(end ?? code.endIndex)]
            let isClosure =
                zip(declared, declared.dropFirst()).contains { $0.text + $1.text == "->" }
                || declared.contains { $0.text == "->" || closures.contains($0.text) }
            guard isClosure else { return nil }
            return Violation(
                path: file.path, line: code[index].line,
                sentence: "A task's own value is a bare closure: put it into a struct, as an "
                    + "optimized build ends at its first use.")
        }
    }

    /// Names of types that are closures.
    static func closures(in file: SourceText) -> Set<String> {
        var names: Set<String> = []
        for line in Dictionary(grouping: file.code, by: \.line).values {
            guard let index = line.firstIndex(where: { $0.text == "typealias" }),
                line.dropFirst(index + 1).first?.kind == .word,
                line.map(\.text).joined().contains("->")
            else { continue }
            names.insert(line[index + 1].text)
        }
        return names
    }

    @Test func taskLocalsDoNotHoldBareClosures() {
        let files = Repository.sources
        let closures = files.reduce(into: Set<String>()) { $0.formUnion(Self.closures(in: $1)) }
        expectNone(files.flatMap { Self.violations(in: $0, closures: closures) })
    }

    @Test func bareClosuresAreFound() {
        let text = """
            typealias Hear = @Sendable (Int) -> Void
            @TaskLocal static var a: (@Sendable (Int) -> Void)?
            @TaskLocal static var b: Hear?
            @TaskLocal static var c: Listener? = nil
            var d: (Int) -> Void = { _ in }
            """
        let file = SourceText(path: "a.swift", text)
        let found = Self.violations(in: file, closures: Self.closures(in: file))
        #expect(found.map(\.line) == [2, 3])
    }
}
