import Foundation
import Testing

/// Words of this project's own are not used if the field has one.
@Suite struct WordTests {
    enum Place: CaseIterable {
        /// The help texts of commands, and all other strings; all of a script.
        case code, comments, help, messages, documents, scripts
    }

    struct Word {
        /// One word, or several that are joined in a name; in lower case.
        var words: [String]
        var instead: String
        var places: Set<Place>

        init(_ text: String, _ instead: String, in places: Set<Place> = Set(Place.allCases)) {
            words = text.split(separator: " ").map(String.init)
            self.instead = instead
            self.places = places
            rest = words.last.map { String($0.dropFirst()) } ?? ""
        }

        /// The last word without its first letter, which may be a capital.
        private let rest: String

        /// Whether a text contains the letters: a quick check that excludes most texts.
        func mayBe(in text: String) -> Bool {
            strstr(text, rest) != nil
        }
    }

    private static let prose: Set<Place> = [.comments, .help, .documents, .scripts]

    static let banned: [Word] = [
        Word("storehouse", "storage engine"),
        Word("schema book", "schema cache"),
        Word("index book", "index manager"),
        Word("news", "outbox event, change, notification"),
        Word("told", "notified", in: [.code, .help, .messages, .documents, .scripts]),
        Word("anew", "again; made anew: recreated", in: prose.union([.messages])),
        Word("whoever", "the user who …", in: prose.union([.messages])),
        Word("nobody", "no user, no one", in: prose),
        Word("somebody", "a user, someone", in: prose),
        Word("untold", "unreported"),
        Word("index drive", "access path"),
        Word("ordered walk", "ordered index scan"),
        Word("repetition", "idempotency record, repeated request"),
        Word("repetitions", "idempotency records, repeated requests"),
        Word("remedy", "recovery action"),
        Word("remedies", "recovery actions"),
        Word("law", "invariant"),
        Word("laws", "invariants"),
        Word("breach", "violation"),
        Word("breaches", "violations"),
        Word("floor", "purge horizon"),
        Word("floors", "purge horizons"),
        Word("traces", "derived rows", in: [.code]),
        Word("knock", "rate check"),
        Word("knocks", "rate checks"),
        Word("loop pause", "wake signal"),
        Word("settle", "what it does: confirm, finish, resolve, decide …"),
        Word("settles", "what it does: confirms, finishes, resolves, decides …"),
        Word("settled", "what was done: confirmed, finished, resolved, decided …"),
        Word("settling", "what it does: confirming, finishing, resolving, deciding …"),
        Word("sealed text", "signed text", in: [.code]),
        Word("sealed by", "signed by", in: [.code]),
        Word("house", "module"),
        Word("houses", "modules"),
        Word("wing", "side"),
        Word("wings", "sides"),
        Word("rooms", "folders"),
        Word("arrow", "dependency"),
        Word("arrows", "dependencies"),
        Word("street", "life of a change"),
        Word("streets", "lives of a change"),
    ]

    static let exceptions: [Exception] = [
        Exception(
            path: "Sources/Server/Storage/RecordFile/RecordFile.swift", about: "\"floor\"",
            reason: "The comment says once which column the purge horizon is; its name is stored."),
        Exception(
            path: "Sources/Device/Cache/Store/CacheFormat.swift", about: "\"anew\"",
            reason: "The comments explain columns; their names are stored."),
        Exception(
            path: "Sources/Device/Cache/DESIGN.md", about: "\"anew\"",
            reason: "The table names columns of the file."),
        Exception(
            path: "Sources/Device/Cache/DESIGN.md", about: "\"nobody\"",
            reason: "The name of a flag that is stored."),
    ]

    static let scriptExceptions: [Exception] = [
        Exception(
            path: "Apps/Shopping/Web/Page/sheets.js", about: "\"somebody\"",
            reason: "The page shows it for a person without a name."),
        Exception(
            path: "Scripts/story.py", about: "\"wings\"", reason: "A list has chicken wings."),
        Exception(
            path: "Tests/Clients/pyicloud_reminders_test.py", about: "\"rooms\"",
            reason: "The field of a record."),
        Exception(
            path: "Tests/Fixtures/Formats/Making/make_service.py", about: "\"nobody\"",
            reason: "The name of a record in stored files."),
    ]

    static let messageExceptions: [Exception] = [
        "RecordFile/RecordFile", "RecordFile/RecordFile+Invariants",
        "Records/SQLiteTransaction+Zones",
    ].map {
        Exception(
            path: "Sources/Server/Storage/\($0).swift", about: "\"floor\"",
            reason: "The statements name a column; its name is stored.")
    }

    static func violations(in file: SourceText) -> [Violation] {
        let texts = file.tokens.flatMap { token in
            switch token.kind {
            case .word: violations(in: token.text, file.path, token.line, .code)
            case .comment: violations(in: token.text, file.path, token.line, .comments)
            case .number, .string, .symbol: [Violation]()
            }
        }
        return texts + violations(inStringsOf: file, .help)
    }

    /// - Parameter place: `help` for the help texts, `messages` for the other strings.
    static func violations(inStringsOf file: SourceText, _ place: Place) -> [Violation] {
        // `stratus limits` prints the limits' descriptions.
        let isAllHelp = file.path.hasSuffix("NamedLimit+All.swift")
        return file.code.indices.filter {
            file.code[$0].kind == .string && (isAllHelp || file.isHelp($0)) == (place == .help)
        }.flatMap { index in
            violations(in: file.code[index].text, file.path, file.code[index].line, place)
        }
    }

    /// What failed tests report with `Issue.record`; their other strings are data.
    static func violations(inReportsOf file: SourceText) -> [Violation] {
        file.code.indices.dropFirst(4).filter { index in
            file.code[index].kind == .string
                && file.code[(index - 4)..<index].map(\.text) == ["Issue", ".", "record", "("]
        }.flatMap { index in
            violations(in: file.code[index].text, file.path, file.code[index].line, .messages)
        }
    }

    static func violations(inDocument text: String, _ path: String) -> [Violation] {
        violations(in: text, path, 1, .documents)
    }

    static func violations(inScript text: String, _ path: String) -> [Violation] {
        violations(in: text, path, 1, .scripts)
    }

    private static func violations(
        in text: String, _ path: String, _ firstLine: Int, _ place: Place
    ) -> [Violation] {
        let candidates = banned.filter { $0.places.contains(place) && $0.mayBe(in: text) }
        guard !candidates.isEmpty else { return [] }
        var found: [Violation] = []
        for (offset, line) in text.split(separator: "\n", omittingEmptySubsequences: false)
            .enumerated()
        {
            // A joined word of a string is a stored name; one of a script, the browser's.
            let words: [String] =
                [.messages, .scripts].contains(place)
                ? line.lowercased().split { !$0.isLetter }.map(String.init) : words(of: line)
            for word in candidates where words.contains(word.words) {
                found.append(
                    Violation(
                        path: path, line: firstLine + offset,
                        sentence: "The word \"\(word.words.joined(separator: " "))\" is not the "
                            + "field's: write \(word.instead)."))
            }
        }
        return found
    }

    /// The words of a line in lower case; joined words in names are separated.
    static func words(of line: some StringProtocol) -> [String] {
        var words: [String] = []
        var word: [UInt8] = []
        var endsInCapital = false
        for byte in line.utf8 {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"):
                if !endsInCapital, !word.isEmpty {
                    words.append(String(decoding: word, as: UTF8.self))
                    word = []
                }
                word.append(byte + 32)
                endsInCapital = true
            case UInt8(ascii: "a")...UInt8(ascii: "z"), 128...255:
                // The second word of "URLSession" begins with the S.
                if endsInCapital, word.count > 1, let last = word.popLast() {
                    words.append(String(decoding: word, as: UTF8.self))
                    word = [last]
                }
                word.append(byte)
                endsInCapital = false
            default:
                if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
                word = []
                endsInCapital = false
            }
        }
        if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
        return words
    }

    @Test func codeHasNoBannedWords() {
        expectNone(
            Repository.all.flatMap(Self.violations(in:)),
            except: Self.exceptions.filter { $0.path.hasSuffix(".swift") })
    }

    @Test func scriptsHaveNoBannedWords() throws {
        let found = try Repository.scripts.flatMap {
            Self.violations(inScript: try Repository.text($0), $0)
        }
        expectNone(found, except: Self.scriptExceptions)
    }

    @Test func messagesHaveNoBannedWords() {
        expectNone(
            Repository.sources.flatMap { Self.violations(inStringsOf: $0, .messages) },
            except: Self.messageExceptions)
    }

    @Test func reportsOfTestsHaveNoBannedWords() {
        expectNone(Repository.tests.flatMap(Self.violations(inReportsOf:)))
    }

    @Test func documentsHaveNoBannedWords() throws {
        let found = try Repository.documents.flatMap {
            Self.violations(inDocument: try Repository.text($0), $0)
        }
        expectNone(found, except: Self.exceptions.filter { $0.path.hasSuffix(".md") })
    }

    @Test func identifiersAreSplitIntoWords() {
        #expect(
            Self.words(of: "let HTTPKnockURL = a_lawOf") == [
                "let", "http", "knock", "url", "a", "law", "of",
            ])
    }

    @Test func bannedWordsAreFound() {
        let text = """
            struct SchemaBooks { var schemaBook: SchemaBook; let outlawed = "law" }
            // A second line: the laws
            /* of the
               Schema Book */
            let schema = book(told)
            // It is told.
            @Flag(help: "Devices are told.") var isTold = "It is told."
            let lawsuit = "Not settled yet."
            let column = "isSettled"
            Issue.record("It was not told.")
            """
        let file = SourceText(path: "a.swift", text)
        let found = Self.violations(in: file)
        #expect(found.map(\.line) == [1, 1, 2, 4, 5, 7, 7])
        #expect(Self.violations(inStringsOf: file, .messages).map(\.line) == [1, 7, 8, 10])
        #expect(Self.violations(inReportsOf: file).map(\.line) == [10])
        #expect(
            found.first?.description
                == "a.swift:1: The word \"schema book\" is not the field's: write schema cache.")
        #expect(
            Self.violations(inDocument: "One.\nA house.", "a.md").map(\.description)
                == ["a.md:2: The word \"house\" is not the field's: write module."])
        #expect(
            Self.violations(inScript: "key = 'ArrowUp'\nis_told = 1  # anew", "a.py").map(\.line)
                == [2, 2])
    }
}
