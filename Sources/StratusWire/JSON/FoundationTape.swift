import Foundation

/// Parses with Foundation's `JSONSerialization` and lays its result out as simdjson would.
///
/// The members of an object come in the order of their keys, since Foundation forgets their own.
enum FoundationTape {
    static func parse(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> JSONDocument.Tape {
        guard String(validating: bytes, as: UTF8.self) != nil else { throw .invalidUTF8 }
        // Foundation also reads UTF-16 and UTF-32, which have NUL bytes wherever there is ASCII.
        guard !bytes.contains(0) else { throw .invalidJSON }
        guard depth(of: bytes) <= JSONDocument.maximumDepth else { throw .nestedTooDeeply }
        let root: Any
        do {
            root = try JSONSerialization.jsonObject(
                with: Data(bytes), options: [.fragmentsAllowed])
        } catch {
            // Foundation's words for it differ between its releases; ours is one constant.
            throw .invalidJSON
        }
        var builder = TapeBuilder()
        try builder.append(root)
        return builder.finish()
    }

    /// The deepest nesting, counted before Foundation recurses into it.
    private static func depth(of bytes: UnsafeRawBufferPointer) -> Int {
        var depth = 0
        var deepest = 0
        var isInString = false
        var isEscaped = false
        for byte in bytes {
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                depth += 1
                deepest = max(deepest, depth)
            case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
            default: break
            }
        }
        return deepest
    }
}

/// Writes Foundation's objects as tape words and length-prefixed strings.
private struct TapeBuilder {
    private var words: [UInt64] = [0]
    private var strings: [UInt8] = []

    mutating func append(_ value: Any) throws(WireError) {
        switch value {
        case is NSNull: append(.null)
        case let string as String: append(string)
        case let array as [Any]:
            try appendContainer(.array, .endOfArray, count: array.count) {
                (builder: inout TapeBuilder) throws(WireError) in
                for element in array { try builder.append(element) }
            }
        case let object as [String: Any]:
            let members = object.sorted { $0.key < $1.key }
            try appendContainer(.object, .endOfObject, count: members.count) {
                (builder: inout TapeBuilder) throws(WireError) in
                for (key, member) in members {
                    builder.append(key)
                    try builder.append(member)
                }
            }
        case let number as NSNumber: try append(number)
        default: throw .invalidJSON
        }
    }

    func finish() -> JSONDocument.Tape {
        let wordMemory = UnsafeMutablePointer<UInt64>.allocate(capacity: words.count)
        wordMemory.initialize(from: words, count: words.count)
        let stringMemory = UnsafeMutablePointer<UInt8>.allocate(capacity: strings.count + 1)
        stringMemory.initialize(from: strings, count: strings.count)
        return JSONDocument.Tape(words: wordMemory, strings: stringMemory) {
            wordMemory.deallocate()
            stringMemory.deallocate()
        }
    }

    private mutating func append(_ tag: JSONNode.Tag, payload: UInt64 = 0) {
        words.append(UInt64(tag.rawValue) << 56 | payload)
    }

    private mutating func append(_ string: String) {
        append(.string, payload: UInt64(strings.count))
        withUnsafeBytes(of: UInt32(string.utf8.count)) { strings.append(contentsOf: $0) }
        strings.append(contentsOf: string.utf8)
        strings.append(0)
    }

    private mutating func append(_ number: NSNumber) throws(WireError) {
        // "c" is what both Foundations use for a Boolean, and JSON has no other char.
        switch UInt8(bitPattern: number.objCType.pointee) {
        case UInt8(ascii: "c"), UInt8(ascii: "B"):
            append(number.boolValue ? .true : .false)
        case UInt8(ascii: "d"), UInt8(ascii: "f"):
            guard number.doubleValue.isFinite else { throw .numberOutOfRange }
            append(.double)
            words.append(number.doubleValue.bitPattern)
        case UInt8(ascii: "Q"):
            append(.uint64)
            words.append(number.uint64Value)
        default:
            append(.int64)
            words.append(UInt64(bitPattern: number.int64Value))
        }
    }

    private mutating func appendContainer(
        _ start: JSONNode.Tag, _ end: JSONNode.Tag, count: Int,
        members: (inout TapeBuilder) throws(WireError) -> Void
    ) throws(WireError) {
        let first = words.count
        append(start)
        try members(&self)
        append(end, payload: UInt64(first))
        let saturated = UInt64(min(count, 0xFF_FFFF))
        words[first] |= saturated << 32 | UInt64(words.count)
    }
}
