import StratusRecords

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Writes one JSON text, byte after byte, without an intermediate tree.
///
/// ```swift
/// var writer = JSONWriter()
/// writer.object { writer in
///     writer.member("recordName", "hut-3")
///     writer.member("deleted", true)
/// }
/// let bytes = writer.finish()
/// ```
///
/// The writer adds the commas. Keys given as literals must not need escapes.
public struct JSONWriter: ~Copyable {
    /// Allocated by `malloc`, so that it can be grown in place.
    private var memory: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private var count = 0
    /// Whether the container has a value already, so that the next one needs a comma.
    private var needsComma = false
    /// Whether errors have only the codes that CloudKit documents.
    let hasDocumentedCodesOnly: Bool

    /// Makes a writer without content.
    ///
    /// - Parameters:
    ///   - capacity: The number of bytes to reserve, at least 64; the memory grows when needed.
    ///   - documentedCodesOnly: Whether errors have only the codes that CloudKit documents, as in
    ///     `wireBytes(of:reservingBytes:documentedCodesOnly:)`.
    public init(reservingBytes capacity: Int = 512, documentedCodesOnly: Bool = false) {
        hasDocumentedCodesOnly = documentedCodesOnly
        self.capacity = max(capacity, 64)
        memory = Self.place(self.capacity, at: nil)
    }

    deinit {
        free(memory)
    }

    /// The text.
    public consuming func finish() -> [UInt8] { [UInt8](bytes) }

    /// The text so far, while the closure runs.
    package borrowing func withBytes<Outcome>(
        _ body: (UnsafeRawBufferPointer) -> Outcome
    ) -> Outcome { body(bytes) }

    private var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: memory, count: count)
    }

    // MARK: Containers

    /// Writes `{`, the members that the closure writes, and `}`.
    @inline(__always)
    public mutating func object(_ members: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "{"))
        members(&self)
        close(UInt8(ascii: "}"))
    }

    /// Writes `[`, the elements that the closure writes, and `]`.
    @inline(__always)
    public mutating func array(_ elements: (inout JSONWriter) -> Void) {
        open(UInt8(ascii: "["))
        elements(&self)
        close(UInt8(ascii: "]"))
    }

    @inline(__always)
    private mutating func open(_ byte: UInt8) {
        reserve(2)
        comma()
        push(byte)
        needsComma = false
    }

    @inline(__always)
    private mutating func close(_ byte: UInt8) {
        reserve(1)
        push(byte)
        needsComma = true
    }

    /// Writes a member's key, a literal without quotes, backslashes and control characters.
    @inline(__always)
    public mutating func key(_ key: StaticString) {
        quoted(key)
        push(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a member's key, with any characters.
    public mutating func key(_ key: String) {
        string(key)
        reserve(1)
        push(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a member's key as it was read.
    mutating func key(_ key: JSONText) {
        string(key)
        reserve(1)
        push(UInt8(ascii: ":"))
        needsComma = false
    }

    // MARK: Values

    /// Writes `null`.
    public mutating func null() { literal("null") }

    /// Writes `true` or `false`.
    public mutating func bool(_ value: Bool) { literal(value ? "true" : "false") }

    /// Writes an integer without exponent or fraction; in quotes when asked.
    public mutating func integer(_ value: Int64, isQuoted: Bool = false) {
        reserve(24)
        comma()
        if isQuoted { push(UInt8(ascii: "\"")) }
        digits(of: value)
        if isQuoted { push(UInt8(ascii: "\"")) }
        needsComma = true
    }

    /// Writes the shortest decimal that reads back as the same double; in quotes when asked.
    ///
    /// A number that is not finite has no JSON and becomes `null`, as in CloudKit JS.
    public mutating func double(_ value: Double, isQuoted: Bool = false) {
        guard value.isFinite else { return null() }
        var text = value.description
        text.withUTF8 { digits in
            reserve(digits.count + 3)
            comma()
            if isQuoted { push(UInt8(ascii: "\"")) }
            append(digits)
            if isQuoted { push(UInt8(ascii: "\"")) }
        }
        needsComma = true
    }

    /// Writes bytes as a string of base64.
    public mutating func base64(_ bytes: [UInt8]) {
        let length = Base64.encodedCount(of: bytes.count)
        reserve(length + 3)
        comma()
        push(UInt8(ascii: "\""))
        let target = memory + count
        bytes.withUnsafeBufferPointer { Base64.encode($0, to: target) }
        count += length
        push(UInt8(ascii: "\""))
        needsComma = true
    }

    /// Writes bytes that are a valid JSON value already, unread.
    public mutating func raw(_ bytes: [UInt8]) {
        reserve(bytes.count + 1)
        comma()
        bytes.withUnsafeBufferPointer { append($0) }
        needsComma = true
    }

    /// Writes a string literal without quotes, backslashes and control characters.
    @inline(__always)
    public mutating func word(_ word: StaticString) {
        quoted(word)
        needsComma = true
    }

    /// Writes a literal in quotes, and reserves room for one byte after it.
    @inline(__always)
    private mutating func quoted(_ literal: StaticString) {
        let length = literal.utf8CodeUnitCount
        reserve(length + 4)
        comma()
        push(UInt8(ascii: "\""))
        (memory + count).update(from: literal.utf8Start, count: length)
        count += length
        push(UInt8(ascii: "\""))
    }

    /// Writes a string with the escapes that JSON demands and no others.
    public mutating func string(_ string: String) {
        // Nil only for strings that were bridged from Objective-C.
        if string.utf8.withContiguousStorageIfAvailable({ escaped($0) }) == nil {
            Array(string.utf8).withUnsafeBufferPointer { escaped($0) }
        }
    }

    /// Writes a string as it was read.
    mutating func string(_ text: JSONText) { escaped(text.bytes) }

    // MARK: Bytes

    private mutating func escaped(_ text: UnsafeBufferPointer<UInt8>) {
        reserve(text.count + 3)
        comma()
        push(UInt8(ascii: "\""))
        var start = 0
        while true {
            let end = JSONEscapes.firstToEscape(in: text, from: start)
            // The rest of the text fits, apart from escapes, by the invariant of reserve below.
            append(UnsafeBufferPointer(rebasing: text[start..<end]))
            guard end < text.count else { break }
            reserve(text.count - end + 6 + 1)
            count += JSONEscapes.write(text[end], to: memory + count)
            start = end + 1
        }
        push(UInt8(ascii: "\""))
        needsComma = true
    }

    private mutating func digits(of value: Int64) {
        var magnitude = value.magnitude
        if value < 0 { push(UInt8(ascii: "-")) }
        var length = 1
        var bound: UInt64 = 10
        while magnitude >= bound {
            length += 1
            guard length < 20 else { break }
            bound *= 10
        }
        var place = count + length
        count = place
        repeat {
            place -= 1
            memory[place] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: magnitude % 10)
            magnitude /= 10
        } while magnitude > 0
    }

    @inline(__always)
    private mutating func literal(_ text: StaticString) {
        reserve(text.utf8CodeUnitCount + 1)
        comma()
        (memory + count).update(from: text.utf8Start, count: text.utf8CodeUnitCount)
        count += text.utf8CodeUnitCount
        needsComma = true
    }

    @inline(__always)
    private mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let start = bytes.baseAddress else { return }
        (memory + count).update(from: start, count: bytes.count)
        count += bytes.count
    }

    @inline(__always)
    private mutating func comma() {
        if needsComma { push(UInt8(ascii: ",")) }
    }

    @inline(__always)
    private mutating func push(_ byte: UInt8) {
        memory[count] = byte
        count += 1
    }

    /// Makes room for this many bytes more. Every writing function calls it before it pushes.
    @inline(__always)
    private mutating func reserve(_ more: Int) {
        if count + more > capacity { grow(by: more) }
    }

    @inline(never)
    private mutating func grow(by more: Int) {
        let larger = max(capacity * 2, count + more)
        memory = Self.place(larger, at: memory)
        capacity = larger
    }

    /// `realloc` moves the pages of a long text and copies nothing.
    private static func place(
        _ capacity: Int, at memory: UnsafeMutablePointer<UInt8>?
    ) -> UnsafeMutablePointer<UInt8> {
        guard let memory = realloc(memory, capacity) else {
            fatalError("There is no memory for \(capacity) bytes of JSON.")
        }
        return memory.assumingMemoryBound(to: UInt8.self)
    }
}
