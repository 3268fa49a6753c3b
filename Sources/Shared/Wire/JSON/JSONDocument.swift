/// A parsed JSON text: it owns the memory that its nodes refer to.
///
/// The text is parsed into simdjson's tape (its doc/tape.md): a flat array of 64-bit words and a buffer of strings,
/// which ``JSONNode`` reads without calling the parser. Where simdjson is not available, a parser in Swift builds the
/// same tape.
///
/// A body is refused when it nests deeper than ``maximumDepth``, is not UTF-8, has a byte order mark,
/// a lone surrogate, or a number beyond 64 bits or beyond a double. NUL inside a string is a
/// character like any other, and of two equal keys the last one counts.
public final class JSONDocument {
    /// The deepest nesting of arrays and objects that is read, not counting an empty innermost one.
    /// No body of the protocol needs 20.
    public static let maximumDepth = 128

    /// The parsers.
    public enum Parser: Sendable, CaseIterable {
        /// simdjson; only where the system has it.
        case simdjson
        /// Our own, in Swift; slower, everywhere.
        case swift

        /// The best one of this platform.
        public static var standard: Parser {
            #if canImport(CSimdjson)
                .simdjson
            #else
                .swift
            #endif
        }
    }

    /// The memory of one document, and how to free it.
    struct Tape {
        var words: UnsafePointer<UInt64>
        var strings: UnsafePointer<UInt8>
        var free: () -> Void
    }

    private let tape: Tape

    /// Parses a JSON text.
    ///
    /// - Throws: ``WireError`` with a constant reason and an empty path.
    public init(
        parsing bytes: UnsafeRawBufferPointer, parser: Parser = .standard
    ) throws(WireError) {
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) {
            throw WireError.byteOrderMark
        }
        #if canImport(CSimdjson)
            switch parser {
            case .simdjson: tape = try SimdjsonTape.parse(bytes)
            case .swift: tape = try SwiftTape.parse(bytes)
            }
        #else
            tape = try SwiftTape.parse(bytes)
        #endif
    }

    deinit {
        tape.free()
    }

    /// Calls the closure with the outermost value, which must not leave the closure.
    public func withRoot<Result, Failure: Error>(
        _ body: (JSONNode) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The nodes are bare pointers into the tape; this keeps it alive while they are used.
        defer { withExtendedLifetime(self) {} }
        return try body(JSONNode(words: tape.words, strings: tape.strings, index: 1))
    }
}

extension WireError {
    static let byteOrderMark = WireError(
        "The body begins with a byte order mark; send plain UTF-8.")
    static let invalidJSON = WireError("The body is not valid JSON.")
    static let invalidUTF8 = WireError("The body is not valid UTF-8.")
    static let invalidEscape = WireError(
        "A string has an unknown escape or half of a surrogate pair.")
    static let nestedTooDeeply = WireError(
        "The body is nested more than \(JSONDocument.maximumDepth) levels deep; send it flatter.")
    static let invalidNumber = WireError("A number is malformed or does not fit into 64 bits.")
    static let outOfMemory = WireError(
        "There is not enough memory to read the body; send a smaller one.")
}
