extension SourceText {
    /// A type or an extension of one.
    struct TypeScope: Sendable {
        var keyword: String
        /// The name without those of the types around it.
        var name: String
        var line: Int
        /// The places of its braces in `code`.
        var body: ClosedRange<Int>
        /// From its keyword to the end of its body.
        var whole: ClosedRange<Int>
    }

    struct Function: Sendable {
        /// The name as declared; `init` for an initializer.
        var name: String
        /// The innermost type around it.
        var type: String?
        var line: Int
        var lastLine: Int
        /// The places of its braces in `code`.
        var body: ClosedRange<Int>
        /// From its first attribute to the end of its body.
        var whole: ClosedRange<Int>
        /// Whether Swift Testing runs it.
        var isTest: Bool

        var lineCount: Int { lastLine - line + 1 }
    }

    private static let typeKeywords: Set<String> = [
        "struct", "class", "enum", "actor", "protocol", "extension",
    ]

    private func isKeyword(_ index: Int) -> Bool {
        code[index].kind == .word && (index == 0 || code[index - 1].text != ".")
            && (index + 1 >= code.count || code[index + 1].text != ":")
    }

    var types: [TypeScope] {
        code.indices.compactMap { index in
            guard Self.typeKeywords.contains(code[index].text), isKeyword(index),
                index + 1 < code.count, code[index + 1].kind == .word,
                !["func", "var", "let", "subscript"].contains(code[index + 1].text),
                let opening = body(of: index + 1), let closing = end(of: opening)
            else { return nil }
            var name = index + 1
            while name + 2 < opening, code[name + 1].text == "." { name += 2 }
            return TypeScope(
                keyword: code[index].text, name: code[name].text, line: code[index].line,
                body: opening...closing, whole: index...closing)
        }
    }

    /// Functions, initializers and subscripts with a body, including local ones.
    var functions: [Function] {
        let types = types
        return code.indices.compactMap { index in
            guard isKeyword(index), index + 1 < code.count else { return nil }
            switch code[index].text {
            case "func": break
            case "init", "subscript":
                guard ["(", "<", "?"].contains(code[index + 1].text) else { return nil }
            default: return nil
            }
            guard let opening = body(of: index), let closing = end(of: opening) else { return nil }
            let isFunction = code[index].text == "func"
            let attributes = attributes(before: index)
            return Function(
                name: isFunction ? code[index + 1].text : code[index].text,
                type: types.last { $0.body.contains(index) }?.name, line: code[index].line,
                lastLine: code[closing].lastLine, body: opening...closing,
                whole: attributes.start...closing, isTest: attributes.names.contains("Test"))
        }
    }

    /// The names of the attributes of the declaration at `start`.
    private func attributes(before start: Int) -> (names: Set<String>, start: Int) {
        var names: Set<String> = []
        var first = start
        var index = start - 1
        while index >= 0 {
            if code[index].text == ")" {
                var depth = 0
                while index > 0 {
                    depth += code[index].text == ")" ? 1 : code[index].text == "(" ? -1 : 0
                    if depth == 0 { break }
                    index -= 1
                }
            } else if code[index].text == "@" {
                names.insert(code[index + 1].text)
                first = index
            } else if code[index].kind != .word {
                break
            }
            index -= 1
        }
        return (names, first)
    }

    /// The names that the file declares outside of types, or adds in an extension.
    var declaredNames: Set<String> {
        var names: Set<String> = []
        var depth = 0
        var isExtension: [Bool] = []
        for (index, token) in code.enumerated() {
            if token.text == "{", token.kind == .symbol {
                let opens = types(openingAt: index)
                isExtension.append(opens == "extension")
                depth += 1
            } else if token.text == "}", token.kind == .symbol, depth > 0 {
                isExtension.removeLast()
                depth -= 1
            } else if depth > 0, isExtension.allSatisfy({ $0 }),
                ["init", "subscript"].contains(token.text), isKeyword(index)
            {
                names.insert(token.text)
            } else if isExtension.allSatisfy({ $0 }),
                Self.namedDeclarators.contains(token.text), isKeyword(index),
                index + 1 < code.count, code[index + 1].kind == .word,
                !Self.namedDeclarators.contains(code[index + 1].text)
            {
                names.insert(code[index + 1].text)
            }
        }
        return names
    }

    private static let namedDeclarators: Set<String> = [
        "func", "var", "let", "struct", "class", "enum", "actor", "protocol", "typealias", "case",
    ]

    /// The keyword of the type whose body opens at this brace.
    private func types(openingAt brace: Int) -> String? {
        var index = brace - 1
        while index >= 0, ![";", "}", "{"].contains(code[index].text) {
            if Self.typeKeywords.contains(code[index].text), isKeyword(index) {
                return code[index].text
            }
            if ["func", "var", "let", "init", "subscript"].contains(code[index].text) {
                return nil
            }
            index -= 1
        }
        return nil
    }
}
