/// The tests of this repository by suite and function.
struct TestIndex: Sendable {
    struct Test: Sendable {
        var file: SourceText
        var function: SourceText.Function
    }

    /// The tests by `Suite.function`.
    private let tests: [String: [Test]]
    /// Suites whose name another file declares too, so that `Suite.function` is ambiguous.
    let repeatedSuites: [Violation]

    /// The names of the types that have tests.
    let suites: Set<String>

    static let all = TestIndex(Repository.tests)

    init(_ files: [SourceText]) {
        var tests: [String: [Test]] = [:]
        var suites: Set<String> = []
        for file in files {
            for function in file.functions where function.isTest {
                let name = (function.type.map { $0 + "." } ?? "") + function.name
                tests[name, default: []].append(Test(file: file, function: function))
                if let suite = function.type { suites.insert(suite) }
            }
        }
        self.tests = tests
        self.suites = suites
        repeatedSuites = Self.repeatedSuites(in: files)
    }

    private static func repeatedSuites(in files: [SourceText]) -> [Violation] {
        let suites = Set(files.flatMap { $0.functions.filter(\.isTest).compactMap(\.type) })
        var firstPaths: [String: String] = [:]
        var found: [Violation] = []
        for file in files {
            for type in file.types where type.keyword != "extension" && suites.contains(type.name) {
                guard let first = firstPaths[type.name] else {
                    firstPaths[type.name] = file.path
                    continue
                }
                found.append(
                    Violation(
                        path: file.path, line: type.line,
                        sentence: "\(first) has a suite \(type.name) too; put the module's name "
                            + "before one of them."))
            }
        }
        return found
    }

    subscript(name: String) -> [Test] { tests[name] ?? [] }
}

extension TestIndex.Test {
    /// The code of its body and arguments, and of the functions, types and properties of its own file that it uses,
    /// directly or indirectly.
    func reach() -> [SourceText.Token] {
        let helpers = file.helpers
        var reached = Array(file.code[function.whole])
        var waiting = reached
        var taken: Set<String> = []
        while let token = waiting.popLast() {
            guard token.kind == .word, taken.insert(token.text).inserted else { continue }
            for helper in helpers[token.text] ?? [] {
                reached += file.code[helper]
                waiting += file.code[helper]
            }
        }
        return reached
    }
}

extension SourceText {
    /// The file's declarations that are not tests, by name, each with its place in `code`.
    fileprivate var helpers: [String: [ClosedRange<Int>]] {
        var helpers: [String: [ClosedRange<Int>]] = [:]
        let functions = functions
        for function in functions where !function.isTest {
            helpers[function.name, default: []].append(function.whole)
        }
        for type in types
        where !functions.contains(where: { $0.isTest && type.body.contains($0.body.lowerBound) }) {
            helpers[type.name, default: []].append(type.whole)
        }
        let bodies = functions.map(\.body)
        for index in code.indices.dropLast()
        where code[index].text == "var" || code[index].text == "let" {
            guard !bodies.contains(where: { $0.contains(index) }) else { continue }
            helpers[code[index + 1].text, default: []].append(index...endOfProperty(index))
        }
        return helpers
    }

    /// The last token of the property declared at `start`.
    private func endOfProperty(_ start: Int) -> Int {
        var index = start + 1
        while index + 1 < code.count {
            if ["(", "[", "{"].contains(code[index].text), let closing = end(of: index) {
                index = closing
                if index + 1 < code.count, code[index + 1].line > code[index].line,
                    code[index + 1].text != "."
                {
                    return index
                }
            }
            if Self.declarators.contains(code[index + 1].text) && code[index].text != "."
                || ["@", "}"].contains(code[index + 1].text)
            {
                return index
            }
            index += 1
        }
        return index
    }
}
