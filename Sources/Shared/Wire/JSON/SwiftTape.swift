/// Parses without simdjson, and writes the same tape; see ``JSONDocument``.
///
/// Foundation is not used because `JSONSerialization` forgets the order of members, drops U+FEFF at the beginning
/// of strings, and on Linux rounds some doubles wrongly (Documentation/Decisions/0002-json.md).
struct SwiftTape {
    private let bytes: UnsafeBufferPointer<UInt8>
    private var index = 0
    private var words: [UInt64] = [0]
    private var strings: [UInt8] = []

    static func parse(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> JSONDocument.Tape {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .invalidUTF8 }
        var parser = SwiftTape(bytes: bytes.bindMemory(to: UInt8.self))
        try parser.value(depth: 0)
        parser.skipSpace()
        guard parser.index == bytes.count else { throw .invalidJSON }
        return parser.finish()
    }

    private init(bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        words.reserveCapacity(bytes.count / 4)
        strings.reserveCapacity(bytes.count)
    }

    private func finish() -> JSONDocument.Tape {
        let wordMemory = UnsafeMutablePointer<UInt64>.allocate(capacity: words.count)
        wordMemory.initialize(from: words, count: words.count)
        let stringMemory = UnsafeMutablePointer<UInt8>.allocate(capacity: strings.count + 1)
        stringMemory.initialize(from: strings, count: strings.count)
        return JSONDocument.Tape(words: wordMemory, strings: stringMemory) {
            wordMemory.deallocate()
            stringMemory.deallocate()
        }
    }

    // MARK: Bytes

    /// The byte to be read next; nil at the end.
    private var next: UInt8? { index < bytes.count ? bytes[index] : nil }

    private mutating func skipSpace() {
        while let byte = next, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 {
            index += 1
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard next == byte else { return false }
        index += 1
        return true
    }

    private mutating func expect(_ literal: StaticString) throws(WireError) {
        for offset in 0..<literal.utf8CodeUnitCount {
            guard take(literal.utf8Start[offset]) else { throw .invalidJSON }
        }
    }

    private mutating func append(_ tag: JSONNode.Tag, payload: Int = 0) {
        words.append(UInt64(tag.rawValue) << 56 | UInt64(payload))
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(WireError) {
        skipSpace()
        switch next {
        case UInt8(ascii: "{"): try object(depth: depth)
        case UInt8(ascii: "["): try array(depth: depth)
        case UInt8(ascii: "\""): try string()
        case UInt8(ascii: "t"):
            try expect("true")
            append(.true)
        case UInt8(ascii: "f"):
            try expect("false")
            append(.false)
        case UInt8(ascii: "n"):
            try expect("null")
            append(.null)
        default: try number()
        }
    }

    private mutating func object(depth: Int) throws(WireError) {
        try container(.object, .endOfObject, close: UInt8(ascii: "}"), depth: depth) {
            (parser: inout SwiftTape) throws(WireError) in
            parser.skipSpace()
            guard parser.next == UInt8(ascii: "\"") else { throw .invalidJSON }
            try parser.string()
            parser.skipSpace()
            guard parser.take(UInt8(ascii: ":")) else { throw .invalidJSON }
            try parser.value(depth: depth + 1)
        }
    }

    private mutating func array(depth: Int) throws(WireError) {
        try container(.array, .endOfArray, close: UInt8(ascii: "]"), depth: depth) {
            (parser: inout SwiftTape) throws(WireError) in
            try parser.value(depth: depth + 1)
        }
    }

    private mutating func container(
        _ start: JSONNode.Tag, _ end: JSONNode.Tag, close: UInt8, depth: Int,
        member: (inout SwiftTape) throws(WireError) -> Void
    ) throws(WireError) {
        let first = words.count
        var count = 0
        index += 1
        append(start)
        skipSpace()
        if !take(close) {
            // An empty container has no level of its own, as in simdjson.
            guard depth < JSONDocument.maximumDepth else { throw .nestedTooDeeply }
            repeat {
                try member(&self)
                count += 1
                skipSpace()
            } while take(UInt8(ascii: ","))
            guard take(close) else { throw .invalidJSON }
        }
        append(end, payload: first)
        words[first] |= UInt64(min(count, 0xFF_FFFF)) << 32 | UInt64(words.count)
    }

    // MARK: Numbers

    private mutating func number() throws(WireError) {
        let start = index
        var isInteger = true
        _ = take(UInt8(ascii: "-"))
        if !take(UInt8(ascii: "0")) { try digits() }
        if take(UInt8(ascii: ".")) {
            isInteger = false
            try digits()
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            isInteger = false
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        let text = String(decoding: bytes[start..<index], as: UTF8.self)
        if !isInteger {
            guard let double = Double(text), double.isFinite else { throw .invalidNumber }
            append(.double)
            words.append(double.bitPattern)
        } else if let integer = Int64(text) {
            append(.int64)
            words.append(UInt64(bitPattern: integer))
        } else if let integer = UInt64(text) {
            append(.uint64)
            words.append(integer)
        } else {
            throw .invalidNumber
        }
    }

    private mutating func digits() throws(WireError) {
        let start = index
        while let byte = next, (0x30...0x39).contains(byte) { index += 1 }
        guard index > start else { throw .invalidJSON }
    }

    // MARK: Strings

    private mutating func string() throws(WireError) {
        index += 1
        let start = strings.count
        append(.string, payload: start)
        strings.append(contentsOf: [0, 0, 0, 0])
        while !take(UInt8(ascii: "\"")) {
            guard let byte = next, byte >= 0x20 else { throw .invalidJSON }
            index += 1
            if byte == UInt8(ascii: "\\") {
                try escape()
            } else {
                strings.append(byte)
            }
        }
        withUnsafeBytes(of: UInt32(strings.count - start - 4)) { length in
            strings.replaceSubrange(start..<start + 4, with: length)
        }
        strings.append(0)
    }

    private mutating func escape() throws(WireError) {
        guard let byte = next else { throw .invalidJSON }
        index += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): strings.append(byte)
        case UInt8(ascii: "b"): strings.append(0x08)
        case UInt8(ascii: "f"): strings.append(0x0C)
        case UInt8(ascii: "n"): strings.append(0x0A)
        case UInt8(ascii: "r"): strings.append(0x0D)
        case UInt8(ascii: "t"): strings.append(0x09)
        case UInt8(ascii: "u"): try unicodeEscape()
        default: throw .invalidEscape
        }
    }

    private mutating func unicodeEscape() throws(WireError) {
        var code = try codeUnit()
        if (0xD800..<0xDC00).contains(code) {
            guard take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw .invalidEscape }
            let low = try codeUnit()
            guard (0xDC00..<0xE000).contains(low) else { throw .invalidEscape }
            code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
        }
        guard let scalar = Unicode.Scalar(code) else { throw .invalidEscape }
        strings.append(contentsOf: UTF8.encode(scalar) ?? Unicode.UTF8.encodedReplacementCharacter)
    }

    private mutating func codeUnit() throws(WireError) -> UInt32 {
        var code: UInt32 = 0
        for _ in 0..<4 {
            guard let byte = next, let digit = Character(Unicode.Scalar(byte)).hexDigitValue,
                byte < 0x80
            else { throw .invalidEscape }
            index += 1
            code = code << 4 | UInt32(digit)
        }
        return code
    }
}
