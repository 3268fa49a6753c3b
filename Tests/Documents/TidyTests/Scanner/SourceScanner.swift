/// Cuts a Swift file into tokens.
struct SourceScanner {
    private let bytes: [UInt8]
    private var position = 0
    private(set) var line = 1
    private var tokens: [SourceText.Token] = []

    init(_ text: String) {
        bytes = Array(text.utf8)
    }

    mutating func all() -> [SourceText.Token] {
        while position < bytes.count { next() }
        return tokens
    }

    private func byte(_ offset: Int = 0) -> UInt8 {
        let index = position + offset
        return index < bytes.count ? bytes[index] : 0
    }

    private func starts(with text: StaticString) -> Bool {
        let count = text.utf8CodeUnitCount
        guard position + count <= bytes.count else { return false }
        return (0..<count).allSatisfy { bytes[position + $0] == text.utf8Start[$0] }
    }

    private mutating func next() {
        let first = byte()
        switch first {
        case UInt8(ascii: "\n"):
            line += 1
            position += 1
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"):
            position += 1
        case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "/"):
            take(.comment) { $0.byte() != UInt8(ascii: "\n") }
        case UInt8(ascii: "/") where byte(1) == UInt8(ascii: "*"):
            blockComment()
        case UInt8(ascii: "/") where isPattern:
            pattern(hashes: 0)
        case UInt8(ascii: "\""):
            string(hashes: 0)
        case UInt8(ascii: "#"):
            hash()
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            take(.number) { Self.isWord($0.byte()) }
        case _ where Self.isWord(first):
            take(.word) { Self.isWord($0.byte()) }
        case UInt8(ascii: "`"):
            position += 1
        default:
            let start = position
            position += 1
            add(.symbol, from: start, line)
        }
    }

    private static func isWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 128...255:
            true
        default: false
        }
    }

    private mutating func add(_ kind: SourceText.Kind, from start: Int, _ firstLine: Int) {
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        tokens.append(.init(kind: kind, text: text, line: firstLine, lastLine: line))
    }

    private mutating func take(_ kind: SourceText.Kind, while goesOn: (Self) -> Bool) {
        let start = position
        position += 1
        while position < bytes.count, goesOn(self) { position += 1 }
        add(kind, from: start, line)
    }

    private mutating func blockComment() {
        let (start, firstLine) = (position, line)
        var depth = 0
        repeat {
            if starts(with: "/*") {
                depth += 1
                position += 2
            } else if starts(with: "*/") {
                depth -= 1
                position += 2
            } else {
                if byte() == UInt8(ascii: "\n") { line += 1 }
                position += 1
            }
        } while depth > 0 && position < bytes.count
        add(.comment, from: start, firstLine)
    }

    /// A string or pattern with hashes, or a directive such as `#if`.
    private mutating func hash() {
        var hashes = 0
        while byte(hashes) == UInt8(ascii: "#") { hashes += 1 }
        switch byte(hashes) {
        case UInt8(ascii: "\""): string(hashes: hashes)
        case UInt8(ascii: "/"): pattern(hashes: hashes)
        default: take(.word) { Self.isWord($0.byte()) }
        }
    }

    /// Whether a slash here opens a pattern rather than divides.
    private var isPattern: Bool {
        guard ![UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "=")].contains(byte(1)) else {
            return false
        }
        guard let last = tokens.last(where: { $0.kind != .comment }) else { return true }
        return ["(", ",", "=", ":", "[", "{", "return", "in"].contains(last.text)
    }

    private mutating func pattern(hashes: Int) {
        let (start, firstLine) = (position, line)
        position += hashes + 1
        while position < bytes.count {
            if byte() == UInt8(ascii: "\\") {
                position += 2
            } else if byte() == UInt8(ascii: "/"), hasHashes(hashes, at: 1) {
                position += hashes + 1
                break
            } else {
                if byte() == UInt8(ascii: "\n") { line += 1 }
                position += 1
            }
        }
        add(.string, from: start, firstLine)
    }

    private func hasHashes(_ count: Int, at offset: Int) -> Bool {
        (0..<count).allSatisfy { byte(offset + $0) == UInt8(ascii: "#") }
    }

    /// A string's text becomes one token; the code of its interpolations, tokens after it.
    private mutating func string(hashes: Int) {
        let (start, firstLine) = (position, line)
        position += hashes
        let quotes = starts(with: "\"\"\"") ? 3 : 1
        position += quotes
        var inside: [SourceText.Token] = []
        while position < bytes.count {
            let isEnd = (0..<quotes).allSatisfy { byte($0) == UInt8(ascii: "\"") }
            if isEnd, hasHashes(hashes, at: quotes) {
                position += quotes + hashes
                break
            }
            if byte() == UInt8(ascii: "\\"), hasHashes(hashes, at: 1) {
                position += 1 + hashes
                if byte() == UInt8(ascii: "(") {
                    inside += interpolation()
                } else {
                    position += 1
                }
                continue
            }
            if byte() == UInt8(ascii: "\n") { line += 1 }
            position += 1
        }
        add(.string, from: start, firstLine)
        tokens += inside
    }

    private mutating func interpolation() -> [SourceText.Token] {
        let outer = tokens
        tokens = []
        var depth = 0
        repeat {
            let count = tokens.count
            next()
            guard tokens.count > count, tokens[count].kind == .symbol else { continue }
            depth += tokens[count].text == "(" ? 1 : tokens[count].text == ")" ? -1 : 0
        } while depth > 0 && position < bytes.count
        defer { tokens = outer }
        return tokens
    }
}
