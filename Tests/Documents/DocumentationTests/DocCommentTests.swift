import Foundation
import Testing

/// The Swift in the doc comments of Sources and Apps compiles.
///
/// Each module with examples has a file in Tests/Documents/ExampleContexts, named like the module. The file has the
/// imports that the examples take for granted, and the values that they use without declaring them. The examples are
/// compiled after it, each as the body of a function; one that begins with a function or a static property as the body
/// of a type; one with an extension as it is.
@Suite(.timeLimit(.minutes(10))) struct DocCommentTests {
    static let contexts = "Tests/Documents/ExampleContexts"

    /// The module of each folder that is a target's, as the manifest has it.
    static func modules() throws -> [(folder: String, name: String)] {
        try SnippetTests.text("Package.swift")
            .matches(of: /[tT]arget\(\s*name: "(\w+)"[\s\S]*?path: "([^"]+)"/)
            .map { (folder: "\($0.output.2)/", name: String($0.output.1)) }
    }

    /// The paths of the files of Swift that are built for users.
    static func paths() -> [String] {
        ["Sources", "Apps"].flatMap { folder in
            let place = SnippetTests.root.appendingPathComponent(folder).path
            return (FileManager.default.enumerator(atPath: place) ?? .init())
                .compactMap { $0 as? String }
                .filter { $0.hasSuffix(".swift") }.map { "\(folder)/\($0)" }
        }.sorted()
    }

    static func examplesByModule() throws -> [String: [DocCommentExample]] {
        let modules = try modules()
        var examples: [String: [DocCommentExample]] = [:]
        for path in paths() {
            let found = DocCommentExample.all(in: try SnippetTests.text(path), path: path)
            guard !found.isEmpty else { continue }
            let module = try #require(
                modules.first { path.hasPrefix($0.folder) }, "\(path) is in no target's folder")
            examples[module.name, default: []] += found
        }
        return examples
    }

    /// A file with the examples of a module, after their context.
    static func source(_ examples: [DocCommentExample], module: String, context: String) -> String {
        "#sourceLocation(file: \"\(contexts)/\(module).swift\", line: 1)\n"
            + "\(context)\n#sourceLocation()\n"
            + examples.enumerated().map { $1.source($0) }.joined()
    }

    @Test func everyDocCommentExampleCompiles() throws {
        let examples = try Self.examplesByModule()
        #expect(examples.values.map(\.count).reduce(0, +) > 80)
        var sources: [String: String] = [:]
        for (module, examples) in examples {
            let path = "\(Self.contexts)/\(module).swift"
            let first = examples[0]
            try #require(
                FileManager.default.fileExists(
                    atPath: SnippetTests.root.appendingPathComponent(path).path),
                "\(first.path):\(first.line): the first example of \(module) needs \(path)")
            sources[module] = Self.source(
                examples, module: module, context: try SnippetTests.text(path))
        }
        for line in try BuiltModules(root: SnippetTests.root).diagnostics(of: sources) {
            Issue.record("An example in a doc comment does not compile: \(line)")
        }
    }

    @Test func errorNamesFileAndLineOfExample() throws {
        let text = """
            /// A hut.
            ///
            /// ```swift
            /// let hut = Hut()
            /// hut.paint()
            /// ```
            struct Hut {}
            """
        let examples = DocCommentExample.all(in: text, path: "Sources/Hut.swift")
        #expect(examples.map(\.lines) == [["let hut = Hut()", "hut.paint()"]])
        let source = Self.source(
            examples, module: "Hut", context: "private struct Hut {}")
        let found = try BuiltModules(root: SnippetTests.root).diagnostics(of: ["Hut": source])
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix("Sources/Hut.swift:5:5: error: ") == true, "\(found)")
    }

    /// A context is of use only to examples.
    @Test func everyContextHasExamples() throws {
        let names = try FileManager.default.contentsOfDirectory(
            atPath: SnippetTests.root.appendingPathComponent(Self.contexts).path)
        let modules = try Self.examplesByModule().keys.map { "\($0).swift" }
        #expect(names.sorted() == modules.sorted())
    }

    @Test(arguments: [
        ("let hut = Hut()", DocCommentExample.Place.function),
        ("static let name = 1", .type), ("func paint() {}", .type),
        ("@Test func paint() {}", .type), ("extension Hut {}", .file),
    ])
    func placeOfExampleFollowsFromItsText(_ line: String, _ place: DocCommentExample.Place) {
        let example = DocCommentExample(path: "Hut.swift", line: 1, lines: [line])
        #expect(example.place == place)
    }
}
