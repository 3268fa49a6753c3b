import Testing

/// A file is unused if no other file names its declarations.
///
/// Names are compared, not declarations: a file whose declarations have common names is not found.
@Suite struct UnusedFileTests {
    static let exceptions: [Exception] = []

    /// The files among `files` whose declarations no other file names, neither these nor `others`.
    static func violations(in files: [SourceText], others: [SourceText]) -> [Violation] {
        var filesWithWord: [String: Int] = [:]
        for file in files + others {
            for word in file.words { filesWithWord[word, default: 0] += 1 }
        }
        return files.compactMap { file in
            let names = file.declaredNames
            guard !names.isEmpty, !file.isProgram else { return nil }
            guard names.allSatisfy({ filesWithWord[$0, default: 0] < 2 }) else { return nil }
            return Violation(
                path: file.path, line: 1,
                sentence: "Nothing of this file is named in another one "
                    + "(\(names.sorted().prefix(3).joined(separator: ", "))): remove it, or test it."
            )
        }
    }

    @Test func everyFileIsUsed() {
        expectNone(
            Self.violations(in: Repository.sources, others: Repository.tests),
            except: Self.exceptions)
    }

    @Test func unusedFilesAreFound() {
        let used = SourceText(path: "used.swift", "struct Used { let left: Int }")
        let added = SourceText(path: "added.swift", "extension Used { func more(_ a: Int) {} }")
        let unused = SourceText(
            path: "unused.swift",
            "struct Unused { let a: Used }\nextension Used { var rest: Int { 1 } }")
        let program = SourceText(path: "main.swift", "let run = Used()")
        let other = SourceText(path: "test.swift", "func test() { Used().more(1) }")
        let found = Self.violations(in: [used, added, unused, program], others: [other])
        #expect(found.map(\.path) == ["unused.swift"])
    }
}

extension SourceText {
    /// Whether a program begins in the file.
    fileprivate var isProgram: Bool {
        path.hasSuffix("main.swift")
            || code.indices.dropLast().contains {
                code[$0].text == "@" && code[$0 + 1].text == "main"
            }
    }
}
