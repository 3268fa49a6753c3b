import Testing

/// Limits for the sizes of files, functions and folders.
@Suite struct SizeTests {
    static let linesOfFile = 400
    static let linesOfFunction = 70
    static let filesOfFolder = 25

    static let exceptions: [Exception] = []

    static func violations(in file: SourceText) -> [Violation] {
        var found: [Violation] = []
        if file.lineCount > linesOfFile {
            found.append(
                Violation(
                    path: file.path, line: linesOfFile + 1,
                    sentence: "The file has \(file.lineCount) lines, \(linesOfFile) at most: "
                        + "move a verb or a nested type into a file of its own."))
        }
        for function in file.functions where function.lineCount > linesOfFunction {
            found.append(
                Violation(
                    path: file.path, line: function.line,
                    sentence: "The function \(function.name) has \(function.lineCount) lines, "
                        + "\(linesOfFunction) at most: give its parts names."))
        }
        return found
    }

    /// Counts the files that lie directly in a folder.
    static func violations(inFoldersOf paths: [String]) -> [Violation] {
        let folders = Dictionary(grouping: paths) { path in
            path.split(separator: "/").dropLast().joined(separator: "/")
        }
        return folders.filter { $0.value.count > filesOfFolder }.keys.sorted().map { folder in
            Violation(
                path: folder, line: 1,
                sentence: "The folder has \(folders[folder]?.count ?? 0) Swift files, "
                    + "\(filesOfFolder) at most: group them by noun.")
        }
    }

    @Test func filesAndFunctionsAreShort() {
        expectNone(
            (Repository.sources + Repository.tests).flatMap(Self.violations),
            except: Self.exceptions)
    }

    @Test func foldersAreSmall() {
        let files = Repository.sources + Repository.tests
        expectNone(Self.violations(inFoldersOf: files.map(\.path)))
    }

    @Test func longFilesFunctionsAndFoldersAreFound() {
        let short = "func short() {\n}\n"
        let long =
            "extension A {\n  func long(a: Int = { 1 }()) -> [Int] {\n"
            + String(repeating: "    \"}\\(a { 1 })\" // }\n", count: 70) + "  }\n}\n"
        #expect(Self.violations(in: SourceText(path: "a.swift", short)).isEmpty)
        let found = Self.violations(in: SourceText(path: "b.swift", short + long))
        #expect(
            found.map(\.description) == [
                "b.swift:4: The function long has 72 lines, 70 at most: give its parts names."
            ])
        let lines = String(repeating: "// A line.\n", count: 401)
        #expect(Self.violations(in: SourceText(path: "c.swift", lines)).map(\.line) == [401])
        let paths = (0..<26).map { "Sources/A/F\($0).swift" } + ["Sources/B/F.swift"]
        #expect(Self.violations(inFoldersOf: paths).map(\.path) == ["Sources/A"])
    }
}
