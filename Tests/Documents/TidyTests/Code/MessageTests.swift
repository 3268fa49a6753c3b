import Testing

/// A message says what happened before it says what to do: it is never only a command. It begins with what it is about,
/// not with a pronoun.
@Suite struct MessageTests {
    /// The calls that create an error or end a process with a sentence.
    private static let calls: Set<String> = [
        "CKError", "CacheError", "CannotDo", "CloudKeyStoreError", "HTTPError", "MappingError",
        "NotFound", "NotUnderstood", "OneSentence", "PredicateFault", "Refusal", "ServiceError",
        "SignInRefusal", "StorageError", "TransportError", "UnconfiguredTransport", "Unusable",
        "ValidationError", "WireError", "damaged", "invalid", "overLimit", "precondition",
        "preconditionFailure", "trouble", "unreadable",
    ]

    /// The words with which a command begins.
    private static let commands: Set<String> = [
        "Add", "Allow", "Ask", "Begin", "Call", "Change", "Check", "Choose", "Close", "Compare",
        "Confirm", "Connect", "Correct", "Create", "Declare", "Delete", "Download", "End", "Enter",
        "Fetch", "Free", "Give", "Go", "Import", "Install", "Invite", "Join", "Keep", "Leave",
        "Let", "Look", "Make", "Map", "Mark", "Move", "Name", "Negate", "Nest", "Open", "Pass",
        "Paste", "Pick", "Press", "Provide", "Put", "Read", "Refer", "Reload", "Remove", "Rename",
        "Repeat", "Replace", "Restart", "Restore", "Run", "Save", "Search", "See", "Select",
        "Send", "Set", "Show", "Sign", "Specify", "Start", "Stop", "Subscribe", "Take", "Tell",
        "Try", "Turn", "Type", "Unwrap", "Update", "Upload", "Use", "Wait", "Write",
    ]

    /// The verbs before which `This` and its like name nothing.
    private static let verbs: Set<String> = [
        "are", "can", "cannot", "could", "did", "does", "had", "has", "have", "is", "may", "must",
        "needs", "was", "were", "will", "would",
    ]

    static let exceptions: [Exception] = ["“Restore”", "“Move”"].map {
        Exception(
            path: "Sources/Server/Service/Upkeep/Finding+Advice.swift", about: $0,
            reason: "The finding, which says what happened, is printed before its advice.")
    }

    static func violations(in file: SourceText) -> [Violation] {
        var messages: Set<Int> = []
        for index in file.code.indices.dropLast()
        where file.code[index].kind == .word && calls.contains(file.code[index].text)
            && file.code[index + 1].text == "("
        {
            let end = file.end(of: index + 1) ?? file.code.endIndex
            guard let first = file.code[index..<end].firstIndex(where: { $0.kind == .string })
            else { continue }
            messages.insert(first)
        }
        // Properties and screens are no such calls, so any whole sentence counts.
        messages.formUnion(file.code.indices.filter { isSentence($0, in: file) })
        return messages.sorted().compactMap { index in
            let message = file.code[index]
            let words = message.text.drop { !$0.isLetter }.split(separator: " ", maxSplits: 1)
            guard words.count == 2 else { return nil }
            let advice: String
            if commands.contains(String(words[0])) {
                advice = "say what happened first"
            } else if isPronoun(words[0], before: words[1]) {
                advice = "name what it is about"
            } else {
                return nil
            }
            return Violation(
                path: file.path, line: message.line,
                sentence: "The message begins with “\(words[0])”: \(advice).")
        }
    }

    /// Whether the first word of a sentence names nothing.
    private static func isPronoun(_ first: Substring, before rest: Substring) -> Bool {
        switch first {
        case "It", "They": true
        case "This", "That", "These", "Those":
            verbs.contains(String(rest.prefix { $0.isLetter }))
        default: false
        }
    }

    /// Whether a string is a whole sentence or its first part, and is not help.
    private static func isSentence(_ index: Int, in file: SourceText) -> Bool {
        // A string that begins with a space continues another sentence, too.
        guard file.code[index].kind == .string, !file.code[index].text.hasPrefix("\" "),
            index == 0 || file.code[index - 1].text != "+"
        else { return false }
        let text = file.code[index].text.reversed().drop { "\"#\n ".contains($0) }
        // The tokens of an interpolation follow the string.
        var next = index + 1
        for _ in file.code[index].text.split(separator: "\\(").dropFirst()
        where next < file.code.count && file.code[next].text == "(" {
            next = (file.end(of: next) ?? next) + 1
        }
        let goesOn = next < file.code.count && file.code[next].text == "+"
        guard text.first == "." || goesOn else { return false }
        // In help, and in the message of a deprecated symbol, commands are right.
        return !file.isHelp(index) && file.call(around: index) != "available"
    }

    @Test func messageSaysWhatHappenedBeforeWhatToDo() {
        let macros = Repository.macros.filter { $0.path.hasPrefix("Macros/Sources/") }
        expectNone((Repository.sources + macros).flatMap(Self.violations), except: Self.exceptions)
    }

    @Test func messagesThatAreCommandsOrNameNothingAreFound() {
        let text = """
            func a(b: Bool) throws {
                precondition(b, "Give it a name.")
                precondition(b, "The list has no name; give it one.")
                guard b else { throw CKError(.badDatabase, "Ask another.", at: "x") }
                throw invalid(
                    "Name it.")
            }
            var line: String {
                guard isOpen else { return "Type \\(word) and " + "a title." }
                return isNew ? "Choose one." : "The list is old. " + "Choose another."
            }
            let title = "Sign in"
            @Option(help: ArgumentHelp("Open this list.", valueName: "title")) var list: String
            @available(*, deprecated, message: "Use list.") var old: String
            func b() throws { throw CannotDo("Paste the link") }
            func c() throws { throw CannotDo("It is old. Choose another.") }
            func d() throws { throw CannotDo("This cannot be read. Choose another.") }
            func e() throws { throw CannotDo("This list is old. Choose another.") }
            """
        #expect(
            Self.violations(in: SourceText(path: "a.swift", text)).map(\.line)
                == [2, 4, 6, 9, 10, 15, 16, 17])
    }
}
