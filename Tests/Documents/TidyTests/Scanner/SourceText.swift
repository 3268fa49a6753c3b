/// A Swift file as tokens: enough to distinguish code from comments and strings, and to find the end of a
/// declaration. It does not parse the grammar.
struct SourceText: Sendable {
    enum Kind: Sendable {
        case word, number, symbol, comment, string
    }

    struct Token: Sendable {
        var kind: Kind
        var text: String
        /// The line of its first character, from 1.
        var line: Int
        /// The line of its last character.
        var lastLine: Int
    }

    let path: String
    let lineCount: Int
    /// All tokens except white space, in order, including the code in strings' interpolations.
    let tokens: [Token]
    /// The tokens without comments.
    let code: [Token]

    init(path: String, _ text: String) {
        self.path = path
        var scanner = SourceScanner(text)
        tokens = scanner.all()
        code = tokens.filter { $0.kind != .comment }
        lineCount = scanner.line - (text.hasSuffix("\n") ? 1 : 0)
    }

    /// Every word of the code.
    var words: Set<String> {
        Set(code.lazy.filter { $0.kind == .word }.map(\.text))
    }

    /// The index in `code` of the bracket that closes the one at `opening`.
    func end(of opening: Int) -> Int? {
        var depth = 0
        for index in opening..<code.count where code[index].kind == .symbol {
            switch code[index].text {
            case "(", "[", "{": depth += 1
            case ")", "]", "}":
                depth -= 1
                if depth == 0 { return index }
            default: continue
            }
        }
        return nil
    }

    /// The word before the innermost bracket that is open at `index` in `code`.
    func call(around index: Int) -> String? {
        var depth = 0
        for before in code.indices[..<index].reversed() where code[before].kind == .symbol {
            switch code[before].text {
            case ")", "]", "}": depth += 1
            case "(", "[", "{":
                guard depth == 0 else {
                    depth -= 1
                    continue
                }
                return before > 0 ? code[before - 1].text : nil
            default: continue
            }
        }
        return nil
    }

    /// Whether the string at `index` in `code` is a command's help.
    func isHelp(_ index: Int) -> Bool {
        code[index].kind == .string && Self.helpCalls.contains(call(around: index) ?? "")
    }

    private static let helpCalls: Set<String> = [
        "Argument", "ArgumentHelp", "CommandConfiguration", "Flag", "Option", "OptionGroup",
    ]

    /// The index in `code` of the brace that opens the body of the declaration at `start`; nil if it has
    /// none, as in a protocol.
    func body(of start: Int) -> Int? {
        var index = start + 1
        while index < code.count {
            let token = code[index]
            guard token.kind == .symbol else {
                let isNext = Self.declarators.contains(token.text) && code[index - 1].text != "."
                if token.kind == .word, isNext { return nil }
                index += 1
                continue
            }
            switch token.text {
            case "{": return index
            case "}": return nil
            case "(", "[": index = (end(of: index) ?? code.count) + 1
            default: index += 1
            }
        }
        return nil
    }

    static let declarators: Set<String> = [
        "func", "init", "subscript", "deinit", "var", "let", "struct", "class", "enum", "actor",
        "protocol", "extension", "case", "typealias", "associatedtype", "import", "macro",
    ]
}
