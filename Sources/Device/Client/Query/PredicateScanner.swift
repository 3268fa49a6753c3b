import Foundation

/// A token of a predicate format string.
enum PredicateToken: Equatable {
    /// A name, keyword or function with its colons, as written.
    case word(String)
    /// A name after `#`, which is not a keyword.
    case name(String)
    case string(String)
    case integer(Int64)
    case double(Double)
    /// `%@`, `%d` and the like: the next argument is a value.
    case valueArgument
    /// `%K`: the next argument is a key.
    case keyArgument
    /// An operator, bracket or comma.
    case symbol(String)
}

/// Why a predicate cannot be parsed, in one sentence.
struct PredicateFault: Error {
    var sentence: String
    /// Whether the format is invalid in any grammar, which is a programming error: it ends too
    /// early or too late, or lacks arguments. Syntax that this parser does not know may be valid in
    /// Foundation's.
    var isMalformed = false
}

/// Splits a predicate format string into tokens.
struct PredicateScanner {
    private var rest: Substring

    init(_ format: String) {
        rest = format[...]
    }

    static func tokens(of format: String) throws -> [PredicateToken] {
        var scanner = PredicateScanner(format)
        var tokens: [PredicateToken] = []
        while let token = try scanner.next() { tokens.append(token) }
        return tokens
    }

    private mutating func next() throws -> PredicateToken? {
        rest = rest.drop(while: \.isWhitespace)
        guard let first = rest.first else { return nil }
        switch first {
        case "'", "\"": return .string(try quoted(first))
        case "%": return try argument()
        case "0"..."9", ".": return try number(negative: false)
        case "-":
            rest.removeFirst()
            return try number(negative: true)
        case "#":
            rest.removeFirst()
            return .name(word())
        case _ where first.isLetter || first == "_" || first == "@":
            return .word(word())
        default: return .symbol(try symbol())
        }
    }

    private mutating func quoted(_ mark: Character) throws -> String {
        rest.removeFirst()
        var text = ""
        while let character = rest.popFirst() {
            if character == mark { return text }
            if character == "\\", let escaped = rest.popFirst() {
                switch escaped {
                case "n": text.append("\n")
                case "t": text.append("\t")
                case "r": text.append("\r")
                case "u": text.append(try unicodeEscape())
                default: text.append(escaped)
                }
            } else {
                text.append(character)
            }
        }
        throw PredicateFault(
            sentence: "A string of the predicate has no end; close it with its quotation mark.",
            isMalformed: true)
    }

    /// The four hexadecimal digits after `\u`.
    private mutating func unicodeEscape() throws -> Character {
        let digits = rest.prefix(4)
        rest = rest.dropFirst(4)
        guard digits.count == 4, let code = UInt32(digits, radix: 16),
            let scalar = Unicode.Scalar(code)
        else {
            throw PredicateFault(
                sentence:
                    "The predicate's \\u is not followed by four hexadecimal digits; write"
                    + " the four digits of a character.")
        }
        return Character(scalar)
    }

    private mutating func argument() throws -> PredicateToken {
        rest.removeFirst()
        if rest.first == "@" {
            rest.removeFirst()
            return .valueArgument
        }
        if rest.first == "K" {
            rest.removeFirst()
            return .keyArgument
        }
        // The printf forms of numbers, such as %d, %ld, %llu and %.2f.
        let form = rest.prefix { "0123456789.+-hlqztLdDiuUxXoOfFeEgGcs".contains($0) }
        guard let end = form.firstIndex(where: { "dDiuUxXoOfFeEgGcs".contains($0) }) else {
            throw PredicateFault(
                sentence:
                    "The predicate has an unknown placeholder; write %@, %K, %d"
                    + " or %f.",
                isMalformed: rest.isEmpty)
        }
        rest = rest[rest.index(after: end)...]
        return .valueArgument
    }

    private mutating func number(negative: Bool) throws -> PredicateToken {
        var after = rest.drop { $0.isNumber || $0 == "." }
        if after.first == "e" || after.first == "E" {
            after.removeFirst()
            if after.first == "-" || after.first == "+" { after.removeFirst() }
            after = after.drop(while: \.isNumber)
        }
        let text = rest[..<after.startIndex]
        rest = after
        let signed = (negative ? "-" : "") + text
        if let integer = Int64(signed) { return .integer(integer) }
        if let double = Double(signed) { return .double(double) }
        throw PredicateFault(
            sentence:
                "A number of the predicate cannot be read; write it as 12, 1.5 or 1e-3.")
    }

    private mutating func word() -> String {
        let text = rest.prefix {
            $0.isLetter || $0.isNumber || "_.:@".contains($0)
        }
        rest = rest[text.endIndex...]
        return String(text)
    }

    private mutating func symbol() throws -> String {
        let symbols = [
            "==", "=>", "=<", "<=", ">=", "!=", "<>", "&&", "||", "=", "<", ">", "!", "(", ")", "{",
            "}", "[", "]", ",",
        ]
        guard let symbol = symbols.first(where: { rest.hasPrefix($0) }) else {
            let text = rest.prefix(1)
            throw PredicateFault(
                sentence: "“\(text)” is not an operator; leave it out of the predicate.")
        }
        rest.removeFirst(symbol.count)
        return symbol
    }
}
