import Foundation
import Testing

/// Types, functions and files that documents and the comments of the code name in back quotes exist.
@Suite struct DocumentSymbolTests {
    /// Quoted names that this repository does not declare, with what they are.
    static let foreign = [
        "CKAllowedSharingOptions": "Apple's, of its interface frameworks",
        "CVaListPointer": "Swift's, not on Linux",
        "CompressedUntil": "a field of the shopping list",
        "DeleteQueue": "a record type",
        "ETag": "a header of HTTP",
        "Host": "a header of HTTP",
        "NOW": "a predicate's function",
        "Origin": "a header of HTTP",
        "StratusKeyring": "a record type",
        "Suite": "stands for a test suite",
        "True": "a value of JSON that older clients send",
        "Users": "a record type",
        "VmHWM": "a line of Linux's process status",
        "iCloud": "how identifiers of containers begin",
        "windowScene": "Apple's, of its interface frameworks",
    ]

    private static let article = "Sources/Testing/StratusTesting.docc/TestingCloudKitCodeInCI.md"
    static let exceptions = [
        Exception(path: article, about: "Sources/Huts/", reason: "of the package of the reader"),
        Exception(path: article, about: "Tests/HutsTests/", reason: "of the package of the reader"),
    ]

    static let commentExceptions = ["account.json", "zone.json", "deleted.json"].map {
        Exception(
            path: "Sources/Server/Service/Accounts/AccountArchive.swift", about: $0,
            reason: "A file in the archive.")
    }

    /// The names and paths that documents may use.
    struct Index {
        var words: Set<String>
        var paths: Set<String>
        var fileNames: Set<String>

        init(_ files: [SourceText], paths: [String]) {
            words = files.reduce(into: []) { $0.formUnion($1.words) }
            self.paths = Set(paths)
            fileNames = Set(paths.flatMap { $0.split(separator: "/").map(String.init) })
        }

        func hasFile(_ path: String) -> Bool {
            fileNames.contains(path)
                || paths.contains {
                    $0 == path || $0.hasPrefix(path + "/") || $0.hasSuffix("/" + path)
                }
        }
    }

    static func tree() throws -> Index {
        let manifest = SourceText(path: "Package.swift", try Repository.text("Package.swift"))
        let folders = [
            "Sources", "Apps", "Macros", "Tests", "Scripts", "Documentation", "Benchmarks", ".ci",
        ]
        var index = Index(
            Repository.sources + Repository.tests + Repository.macros + [manifest],
            paths: folders.flatMap(Repository.paths) + ["Package.swift", "README.md"])
        index.words.formUnion(folders)
        // Targets, products and packages are strings in the manifest.
        index.words.formUnion(
            manifest.code.filter { $0.kind == .string }.map { $0.text.filter { $0 != "\"" } })
        return index
    }

    static func violations(inDocument text: String, _ path: String, _ index: Index) -> [Violation] {
        var found: [Violation] = []
        var isBlock = false
        for (offset, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            if line.hasPrefix("```") { isBlock.toggle() }
            // Symbols that Compatibility.md calls absent need not exist.
            let isAbsent = line.contains("| never |") || line.contains("| not yet |")
            guard !isBlock, !isAbsent else { continue }
            for span in spans(of: line) {
                guard let missing = missing(in: span, index) else { continue }
                found.append(
                    Violation(
                        path: path, line: offset + 1,
                        sentence: "There is no \(missing) (in `\(span)`): name what is there."))
            }
        }
        return found
    }

    /// The comments of a file, each on its line, are a document.
    static func violations(inCommentsOf file: SourceText, _ index: Index) -> [Violation] {
        var lines = Array(repeating: "", count: file.tokens.last?.lastLine ?? 0)
        for comment in file.tokens where comment.kind == .comment {
            for (offset, line) in comment.text
                .split(separator: "\n", omittingEmptySubsequences: false).enumerated()
            {
                lines[comment.line - 1 + offset] = String(line.drop { "/* ".contains($0) })
            }
        }
        return violations(inDocument: lines.joined(separator: "\n"), file.path, index)
    }

    /// The quoted texts of a line. A link of DocC has two back quotes, and a slash before a member.
    private static func spans(of line: Substring) -> [String] {
        line.split(separator: "``", omittingEmptySubsequences: false).enumerated()
            .flatMap { number, part -> [String] in
                if number % 2 == 1 { return [String(part.map { $0 == "/" ? "." : $0 })] }
                return part.split(separator: "`", omittingEmptySubsequences: false).enumerated()
                    .filter { $0.offset % 2 == 1 }.map { String($0.element) }
            }
    }

    /// The part of a quoted text that looks like a symbol or file and does not exist.
    static func missing(in span: String, _ index: Index) -> String? {
        if isFile(span) {
            return index.hasFile(span.hasSuffix("/") ? String(span.dropLast()) : span) ? nil : span
        }
        let names = symbols(in: span)
        guard !names.contains(where: { foreign[$0] != nil }) else { return nil }
        return names.first { !index.words.contains($0) }
    }

    private static let extensions: Set<String> = ["swift", "md", "py", "sh", "json", "tsv", "svg"]
    private static let folders = [
        "Sources/", "Apps/", "Macros/", "Tests/", "Scripts/", "Documentation/", "Benchmarks/",
    ]

    private static func isFile(_ span: String) -> Bool {
        guard !span.contains(where: { " <>*…{}$=".contains($0) }) else { return false }
        return folders.contains(where: span.hasPrefix)
            || (span.split(separator: ".").last.map { extensions.contains(String($0)) } ?? false)
                && !span.hasPrefix("/") && span.contains(".")
    }

    /// The names in a span that is one type, member or call: `A`, `A.b`, `A.b(c:)`, `b(c:)`.
    static func symbols(in span: String) -> [String] {
        let head = span.prefix { $0 != "(" && $0 != "<" && $0 != ":" }
        let rest = span.dropFirst(head.count)
        let names = head.split(separator: ".", omittingEmptySubsequences: true).map(String.init)
        let isName =
            !names.isEmpty
            && names.allSatisfy { name in
                name.first.map { $0.isLetter && $0.isASCII || $0 == "_" } ?? false
                    && name.allSatisfy { $0.isLetter && $0.isASCII || $0.isNumber || $0 == "_" }
            }
        guard isName, rest.isEmpty || rest.hasPrefix("(") && rest.hasSuffix(")") else { return [] }
        let isCall = rest.hasPrefix("(")
        // Upper case alone is a constant of the protocol or the environment; lower case alone, a key.
        let looksLikeType = names.contains { name in
            name.first?.isUppercase == true && name.contains { $0.isLowercase }
        }
        guard isCall || looksLikeType else { return [] }
        return names
    }

    @Test func symbolsNamedInDocumentsExist() throws {
        let index = try Self.tree()
        expectNone(
            try Repository.documents.flatMap {
                Self.violations(inDocument: try Repository.text($0), $0, index)
            }, except: Self.exceptions)
    }

    @Test func symbolsNamedInCommentsExist() throws {
        let index = try Self.tree()
        let files = Repository.sources + Repository.macros
        expectNone(
            files.flatMap { Self.violations(inCommentsOf: $0, index) },
            except: Self.commentExceptions)
    }

    @Test func missingSymbolsAreFound() {
        let index = Index(
            [SourceText(path: "Sources/A/There.swift", "struct There { func doIt(now: Int) {} }")],
            paths: ["Sources/A/There.swift"])
        let text = """
            `There`, `There.doIt(now:)`, `doIt()`, `There.swift`, `Sources/A`, `serverKey`, `BAD_REQUEST`
            `Gone` and `There.undo()`
            ```
            `Gone` in a block
            ```
            `Gone.swift`, `Sources/B/There.swift`
            ``There/doIt(now:)-(Int)``, ``Gone`` and ``There/undo()``
            """
        let found = Self.violations(inDocument: text, "a.md", index)
        #expect(found.map(\.line) == [2, 2, 6, 6, 7, 7])
    }

    @Test func missingSymbolsOfCommentsAreFound() {
        let file = SourceText(
            path: "a.swift",
            """
            /// A ``There``, not a ``Gone``.
            ///
            /// ```swift
            /// let a = `Gone`
            /// ```
            struct There {}  // as `There.swift` has it

            /* Nor is there
               a `Gone.swift`. */
            """)
        let index = Index([file], paths: ["There.swift"])
        let found = Self.violations(inCommentsOf: file, index)
        #expect(found.map(\.line) == [1, 9])
    }
}
