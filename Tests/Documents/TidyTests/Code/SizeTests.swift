import Testing

/// Limits for the sizes of files, functions and folders.
@Suite struct SizeTests {
    static let linesOfFile = 400
    static let linesOfFunction = 70
    static let filesOfFolder = 25

    static let exceptions: [Exception] = []

    static let pythonExceptions: [Exception] = [
        ("Clients/pyicloud_reminders_test.py", "reminders"),
        ("Clients/pyicloud_reminders_test.py", "cloudkit"), ("Clients/pyicloud_test.py", "run"),
        ("Clients/server_to_server_test.py", "run"),
        ("Fixtures/Formats/Making/make_service.py", "make_records"),
    ].map { file, function in
        Exception(
            path: "Tests/\(file)", about: "function \(function) ",
            reason: "A list of requests without branches, each of which needs the earlier ones.")
    }

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

    /// The length of a file in another language than Swift.
    static func violations(ofLengthOf text: String, _ path: String) -> [Violation] {
        let lineCount = text.count { $0.isNewline }
        guard lineCount > linesOfFile else { return [] }
        return [
            Violation(
                path: path, line: linesOfFile + 1,
                sentence: "The file has \(lineCount) lines, \(linesOfFile) at most: move a "
                    + "part into a file of its own.")
        ]
    }

    /// A Python function ends before the next line that is not indented more than its first one.
    static func violations(inPython text: String, _ path: String) -> [Violation] {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        var found: [Violation] = []
        for (index, line) in lines.enumerated() {
            let indentation = line.prefix { $0 == " " }
            let declaration = line.dropFirst(indentation.count)
            guard declaration.hasPrefix("def ") else { continue }
            let name = declaration.dropFirst("def ".count).prefix { $0 != "(" }
            var last = index
            for next in lines.indices.dropFirst(index + 1) {
                let text = lines[next].drop { $0 == " " }
                guard let first = text.first else { continue }
                // The bracket after the parameters is not indented.
                let isInside = lines[next].count - text.count > indentation.count || first == ")"
                guard isInside else { break }
                last = next
            }
            let lineCount = last - index + 1
            guard lineCount > linesOfFunction else { continue }
            found.append(
                Violation(
                    path: path, line: index + 1,
                    sentence: "The function \(name) has \(lineCount) lines, "
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
        expectNone(Repository.all.flatMap(Self.violations), except: Self.exceptions)
    }

    @Test func filesOfOtherLanguagesAreShort() throws {
        let found = try Repository.scripts.flatMap {
            Self.violations(ofLengthOf: try Repository.text($0), $0)
        }
        let manifest = Exception(
            path: "Package.swift", about: "lines", reason: "SwiftPM reads one file of targets.")
        expectNone(found, except: [manifest])
    }

    @Test func pythonFunctionsAreShort() throws {
        let found = try Repository.scripts.filter { $0.hasSuffix(".py") }.flatMap {
            Self.violations(inPython: try Repository.text($0), $0)
        }
        expectNone(found, except: Self.pythonExceptions)
    }

    @Test func foldersAreSmall() {
        expectNone(Self.violations(inFoldersOf: Repository.all.map(\.path)))
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
        #expect(Self.violations(ofLengthOf: lines, "a.c").map(\.line) == [401])
        let python =
            "class A:\n    def long(\n        self\n    ):\n"
            + String(repeating: "        a()\n\n", count: 35) + "\ndef short():\n    b()\n"
        #expect(Self.violations(inPython: python, "a.py").map(\.line) == [2])
        let paths = (0..<26).map { "Sources/A/F\($0).swift" } + ["Sources/B/F.swift"]
        #expect(Self.violations(inFoldersOf: paths).map(\.path) == ["Sources/A"])
    }
}
