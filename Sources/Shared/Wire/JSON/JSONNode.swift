/// One value of a parsed ``JSONDocument``: a position on its tape.
///
/// A node is valid only inside ``JSONDocument/withRoot(_:)``. It is three words, copied freely, and not
/// reference-counted.
public struct JSONNode {
    /// What the value is.
    public enum Kind: Hashable, Sendable {
        /// Members, each with a key.
        case object
        /// Elements, of any kinds.
        case array
        /// Text in quotes.
        case string
        /// A number without fraction and exponent, of 64 bits with or without a sign.
        case integer
        /// A number with a fraction or an exponent.
        case double
        /// `true` or `false`.
        case bool
        /// `null`.
        case null
    }

    /// The letter in a tape word's highest byte.
    enum Tag: UInt8 {
        case object = 0x7B
        case endOfObject = 0x7D
        case array = 0x5B
        case endOfArray = 0x5D
        case `true` = 0x74
        case `false` = 0x66
        case null = 0x6E
        case string = 0x22
        case int64 = 0x6C
        case uint64 = 0x75
        case double = 0x64
    }

    let words: UnsafePointer<UInt64>
    let strings: UnsafePointer<UInt8>
    let index: Int

    @inline(__always)
    var tag: UInt8 { UInt8(truncatingIfNeeded: words[index] >> 56) }

    @inline(__always)
    private func isTag(_ tag: Tag) -> Bool { self.tag == tag.rawValue }

    /// What the value is. A number's kind depends on how it is written: `1` is an integer, `1.0` a double.
    public var kind: Kind {
        switch Tag(rawValue: tag) {
        case .object: .object
        case .array: .array
        case .string: .string
        case .int64, .uint64: .integer
        case .double: .double
        case .true, .false: .bool
        case .null, .endOfObject, .endOfArray, nil: .null
        }
    }

    /// Whether the value is `null`.
    public var isNull: Bool { isTag(.null) }
    /// Whether the value is an object.
    public var isObject: Bool { isTag(.object) }
    /// Whether the value is an array.
    public var isArray: Bool { isTag(.array) }

    /// The Boolean; nil for any other kind.
    public var bool: Bool? {
        if isTag(.true) { return true }
        return isTag(.false) ? false : nil
    }

    /// The string; nil for any other kind.
    public var string: String? {
        isTag(.string) ? String(decoding: text.bytes, as: UTF8.self) : nil
    }

    /// The integer, or the number without a fraction; nil for any other kind and beyond 64 bits.
    public var int64: Int64? {
        switch tag {
        case Tag.int64.rawValue: Int64(bitPattern: words[index + 1])
        case Tag.uint64.rawValue: Int64(exactly: words[index + 1])
        case Tag.double.rawValue: Int64(exactly: Double(bitPattern: words[index + 1]))
        default: nil
        }
    }

    /// The number; nil for any other kind.
    public var double: Double? {
        switch tag {
        case Tag.double.rawValue: Double(bitPattern: words[index + 1])
        case Tag.int64.rawValue: Double(Int64(bitPattern: words[index + 1]))
        case Tag.uint64.rawValue: Double(words[index + 1])
        default: nil
        }
    }

    /// The bytes of a string, in the document's memory; nil for any other kind.
    var stringText: JSONText? { isTag(.string) ? text : nil }

    @inline(__always)
    private var text: JSONText {
        let start = strings + Int(truncatingIfNeeded: words[index] & 0x00FF_FFFF_FFFF_FFFF)
        let count = UnsafeRawPointer(start).loadUnaligned(as: UInt32.self)
        return JSONText(bytes: UnsafeBufferPointer(start: start + 4, count: Int(count)))
    }

    /// The index of the value after this one.
    @inline(__always)
    private var nextIndex: Int {
        switch tag {
        case Tag.object.rawValue, Tag.array.rawValue:
            Int(truncatingIfNeeded: words[index] & 0xFFFF_FFFF)
        case Tag.int64.rawValue, Tag.uint64.rawValue, Tag.double.rawValue: index + 2
        default: index + 1
        }
    }

    /// The number of members or elements; 16,777,215 stands for that many or more.
    public var count: Int {
        isObject || isArray ? Int(truncatingIfNeeded: words[index] >> 32 & 0xFF_FFFF) : 0
    }

    /// The members of an object in the order of the text; empty for any other kind.
    public var members: Members { Members(node: self) }

    /// The elements of an array; empty for any other kind.
    public var elements: Elements { Elements(node: self) }

    /// The last member with this key; nil when there is none, or for any other kind than an object.
    public subscript(key: StaticString) -> JSONNode? {
        var found: JSONNode?
        for (name, node) in members where name == key { found = node }
        return found
    }

    @inline(__always)
    private func node(at index: Int) -> JSONNode {
        JSONNode(words: words, strings: strings, index: index)
    }

    /// The contents of an object or an array, from its first word to its last.
    fileprivate struct Contents {
        let node: JSONNode
        var index: Int
        let end: Int

        /// - Parameter isRead: Whether the value is of the requested kind; otherwise there are no contents.
        @inline(__always)
        init(of node: JSONNode, isRead: Bool) {
            self.node = node
            index = node.index + 1
            end = isRead ? node.nextIndex - 1 : index
        }

        /// The next value, `offset` words further on; nil at the end.
        @inline(__always)
        mutating func next(after offset: Int = 0) -> JSONNode? {
            guard index < end else { return nil }
            let value = node.node(at: index + offset)
            index = value.nextIndex
            return value
        }
    }

    /// The members of an object in the order of the text. Of equal keys, all are there.
    public struct Members: Sequence, IteratorProtocol {
        private var contents: Contents

        fileprivate init(node: JSONNode) { contents = Contents(of: node, isRead: node.isObject) }

        @inline(__always)
        public mutating func next() -> (key: JSONText, value: JSONNode)? {
            let key = contents.node.node(at: contents.index)
            guard let value = contents.next(after: 1) else { return nil }
            return (key.text, value)
        }
    }

    /// The elements of an array in the order of the text.
    public struct Elements: Sequence, IteratorProtocol {
        private var contents: Contents

        fileprivate init(node: JSONNode) { contents = Contents(of: node, isRead: node.isArray) }

        @inline(__always)
        public mutating func next() -> JSONNode? { contents.next() }
    }
}

/// The UTF-8 of a key or string in the document's memory, which can be compared with literals at no cost.
public struct JSONText {
    let bytes: UnsafeBufferPointer<UInt8>

    /// The text as a string of its own, which stays valid without the document.
    public var string: String { String(decoding: bytes, as: UTF8.self) }

    /// Compares the bytes with a literal's, without making a string.
    @inline(__always)
    public static func == (text: JSONText, literal: StaticString) -> Bool {
        text.bytes.count == literal.utf8CodeUnitCount
            && text.isEqual(to: literal.utf8Start)
    }

    /// Allows literals as the cases of a `switch` over a text.
    @inline(__always)
    public static func ~= (literal: StaticString, text: JSONText) -> Bool {
        text == literal
    }

    static func == (left: JSONText, right: JSONText) -> Bool {
        guard left.bytes.count == right.bytes.count else { return false }
        guard let start = right.bytes.baseAddress else { return true }
        return left.isEqual(to: start)
    }

    @inline(__always)
    private func isEqual(to other: UnsafePointer<UInt8>) -> Bool {
        for index in bytes.indices where bytes[index] != other[index] { return false }
        return true
    }
}
