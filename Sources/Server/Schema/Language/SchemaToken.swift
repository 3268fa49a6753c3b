/// A token of the schema language.
struct SchemaToken: Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// A keyword or a name.
        case word(String)
        /// A name between quotation marks.
        case quoted(String)
        /// One of `( ) , ; < >`.
        case sign(Character)
        case end
    }

    /// Where a token begins.
    struct Place: Hashable, Sendable {
        var line = 1
        var column = 1
    }

    var kind: Kind
    var place: Place

    /// The token as error messages show it.
    var name: String {
        switch kind {
        case .word(let text): "'\(text)'"
        case .quoted(let text): "\"\(text)\""
        case .sign(let sign): "'\(sign)'"
        case .end: "the end of the text"
        }
    }

    /// Whether the token is this keyword, in upper or lower case.
    func isKeyword(_ keyword: String) -> Bool {
        guard case .word(let text) = kind else { return false }
        return text.uppercased() == keyword
    }
}

/// Splits the text of a schema into tokens and drops its comments.
struct SchemaLexer {
    /// Bytes of the longest word that is read, so that messages stay short.
    private static let wordBytes = 1_000

    private var scalars: Substring.UnicodeScalarView
    private var place = SchemaToken.Place()

    init(_ text: String) {
        scalars = text[...].unicodeScalars
        if scalars.first == "\u{FEFF}" { scalars.removeFirst() }
    }

    /// The next token; at the end of the text always ``SchemaToken/Kind/end``.
    mutating func next() throws(SchemaSyntaxError) -> SchemaToken {
        try skipBlanksAndComments()
        let start = place
        guard let scalar = scalars.first else { return SchemaToken(kind: .end, place: start) }
        switch scalar {
        case "(", ")", ",", ";", "<", ">":
            advance()
            return SchemaToken(kind: .sign(Character(scalar)), place: start)
        case "\"":
            return SchemaToken(kind: .quoted(try quoted(from: start)), place: start)
        default:
            let word = take { Self.isWord($0) }
            guard !word.isEmpty else {
                throw SchemaSyntaxError(
                    "The character '\(scalar)' belongs to no word or sign.",
                    at: start)
            }
            guard word.utf8.count <= Self.wordBytes else {
                throw SchemaSyntaxError("The name is longer than 255 characters.", at: start)
            }
            return SchemaToken(kind: .word(word), place: start)
        }
    }

    private mutating func quoted(
        from start: SchemaToken.Place
    ) throws(SchemaSyntaxError) -> String {
        advance()
        let name = take { $0 != "\"" && $0.value >= 0x20 && $0.value != 0x7F }
        guard scalars.first == "\"" else {
            throw SchemaSyntaxError("The quotation mark is not closed on its line.", at: start)
        }
        advance()
        guard name.utf8.count <= Self.wordBytes else {
            throw SchemaSyntaxError("The name is longer than 255 characters.", at: start)
        }
        return name
    }

    private mutating func skipBlanksAndComments() throws(SchemaSyntaxError) {
        while let scalar = scalars.first {
            if scalar == " " || scalar == "\t" || Self.isNewline(scalar) {
                advance()
            } else if startsWith("//") || startsWith("--") {
                _ = take { !Self.isNewline($0) }
            } else if startsWith("/*") {
                try skipBlockComment()
            } else {
                return
            }
        }
    }

    private mutating func skipBlockComment() throws(SchemaSyntaxError) {
        let start = place
        advance()
        advance()
        while !startsWith("*/") {
            guard !scalars.isEmpty else {
                throw SchemaSyntaxError("The comment is not closed with */.", at: start)
            }
            advance()
        }
        advance()
        advance()
    }

    private func startsWith(_ text: String) -> Bool {
        scalars.starts(with: text.unicodeScalars)
    }

    private mutating func take(while isTaken: (Unicode.Scalar) -> Bool) -> String {
        var taken = String.UnicodeScalarView()
        while let scalar = scalars.first, isTaken(scalar) {
            taken.append(scalar)
            advance()
        }
        return String(taken)
    }

    /// Skips one character; `\r\n` counts as one newline.
    private mutating func advance() {
        let scalar = scalars.removeFirst()
        guard Self.isNewline(scalar), !(scalar == "\r" && scalars.first == "\n") else {
            place.column += 1
            return
        }
        place.line += 1
        place.column = 1
    }

    private static func isNewline(_ scalar: Unicode.Scalar) -> Bool {
        scalar == "\n" || scalar == "\r"
    }

    private static func isWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "A"..."Z", "a"..."z", "0"..."9", "_": true
        default: false
        }
    }
}
