import Testing

/// A message says what happened before it says what to do: never only a command.
@Suite struct MessageTests {
    /// What makes an error or ends a process with a sentence.
    private static let calls: Set<String> = [
        "CKError", "CacheError", "CloudKeyStoreError", "MappingError", "OneSentence",
        "PredicateFault",
        "Refusal", "ServiceError", "StorageError", "TransportError", "UnconfiguredTransport",
        "Unusable", "ValidationError", "WireError", "damaged", "invalid", "overLimit",
        "precondition",
        "preconditionFailure", "unreadable",
    ]

    /// How a command begins.
    private static let commands: Set<String> = [
        "Add", "Ask", "Begin", "Call", "Choose", "Close", "Compare", "Connect", "Correct",
        "Declare",
        "Delete", "End", "Fetch", "Give", "Import", "Install", "Join", "Keep", "Leave", "Let",
        "Look",
        "Make", "Move", "Name", "Negate", "Nest", "Open", "Pass", "Put", "Refer", "Remove",
        "Repeat",
        "Replace", "Run", "Save", "Search", "Send", "Set", "Sign", "Start", "Stop", "Subscribe",
        "Take",
        "Try", "Unwrap", "Update", "Use", "Wait", "Write",
    ]

    static func violations(in file: SourceText) -> [Violation] {
        var found: [Violation] = []
        for index in file.code.indices.dropLast()
        where file.code[index].kind == .word && calls.contains(file.code[index].text)
            && file.code[index + 1].text == "("
        {
            let end = file.end(of: index + 1) ?? file.code.endIndex
            guard let message = file.code[index..<end].first(where: { $0.kind == .string }) else {
                continue
            }
            let words = message.text.drop { !$0.isLetter }.split(separator: " ", maxSplits: 1)
            guard words.count == 2, commands.contains(String(words[0])) else { continue }
            found.append(
                Violation(
                    path: file.path, line: message.line,
                    sentence: "The message begins with “\(words[0])”: say what happened first."))
        }
        return found
    }

    @Test func messageSaysWhatHappenedBeforeWhatToDo() {
        expectNone(Repository.sources.flatMap(Self.violations))
    }

    @Test func commandsAreFound() {
        let text = """
            func a(b: Bool) throws {
                precondition(b, "Give it a name.")
                precondition(b, "It has no name; give it one.")
                guard b else { throw CKError(.badDatabase, "Ask another.", at: "x") }
                throw invalid(
                    "Name it.")
            }
            """
        #expect(Self.violations(in: SourceText(path: "a.swift", text)).map(\.line) == [2, 4, 6])
    }
}
