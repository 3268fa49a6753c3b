/// Reads a body of the protocol.
///
/// An empty body counts as `{}`, since clients send either to endpoints without content.
///
/// ```swift
/// let request = try readWire(RecordsModify.Request.self, from: body)
/// ```
///
/// - Throws: ``WireError`` with a constant reason and the path of the key at which reading stopped.
public func readWire<Value: WireReadable>(
    _ type: Value.Type = Value.self, from bytes: UnsafeRawBufferPointer,
    parser: JSONDocument.Parser = .standard
) throws(WireError) -> Value {
    guard !bytes.isEmpty else { return try readWire(type, from: emptyObject, parser: parser) }
    return try JSONDocument(parsing: bytes, parser: parser)
        .withRoot { (root) throws(WireError) in try Value(wire: root) }
}

/// Reads a body of the protocol from an array.
public func readWire<Value: WireReadable>(
    _ type: Value.Type = Value.self, from bytes: [UInt8], parser: JSONDocument.Parser = .standard
) throws(WireError) -> Value {
    // withUnsafeBytes rethrows untyped, so the result is returned as a value.
    let outcome: Result<Value, WireError> = bytes.withUnsafeBytes { buffer in
        Result { () throws(WireError) in try readWire(type, from: buffer, parser: parser) }
    }
    return try outcome.get()
}

private let emptyObject = Array("{}".utf8)

/// Writes a body of the protocol.
///
/// A double that is not finite, which JSON cannot represent, becomes `null`.
///
/// - Parameters:
///   - value: The body.
///   - reservingBytes: The expected number of bytes.
///   - documentedCodesOnly: Whether errors in it have only the `serverErrorCode`s that CloudKit documents, for clients
///     that know no others.
public func wireBytes(
    of value: some WireWritable, reservingBytes: Int = 512, documentedCodesOnly: Bool = false
) -> [UInt8] {
    var writer = JSONWriter(
        reservingBytes: reservingBytes, documentedCodesOnly: documentedCodesOnly)
    value.write(to: &writer)
    return writer.finish()
}

/// Writes a body of the protocol and lends its bytes, for a caller that copies them anyway.
package func withWireBytes<Outcome>(
    of value: some WireWritable, documentedCodesOnly: Bool = false,
    _ body: (UnsafeRawBufferPointer) -> Outcome
) -> Outcome {
    var writer = JSONWriter(documentedCodesOnly: documentedCodesOnly)
    value.write(to: &writer)
    return writer.withBytes(body)
}

extension [UInt8] {
    /// Whether the bytes contain a word: a quick check before they are parsed.
    package func contains(bytes word: [UInt8]) -> Bool {
        withUnsafeBufferPointer { all in
            word.withUnsafeBufferPointer { word in
                guard let first = word.first, all.count >= word.count else { return false }
                for start in 0...(all.count - word.count) where all[start] == first {
                    var length = 1
                    while length < word.count, all[start + length] == word[length] { length += 1 }
                    if length == word.count { return true }
                }
                return false
            }
        }
    }
}
