import StratusRecords

/// The proof of a sign-in: it is sent with each request and replaced with every answer.
///
/// Format 1, before sealing: the byte 1, the session's identifier as a counted string, and the time of issue in
/// milliseconds since 1970 as eight bytes. The text is URL-safe base64.
struct WebAuthToken: SealedText, Hashable {
    static let purpose = TokenSigner.Purpose.webAuthToken
    static let isInAddresses = true

    var session: String
    /// Milliseconds since 1970.
    var issuedMilliseconds: Int64

    private static let format: UInt8 = 1

    func write(to writer: inout ByteWriter) {
        writer.write(Self.format)
        writer.write(session)
        writer.write(number: issuedMilliseconds)
    }
}

extension WebAuthToken {
    init(from reader: inout ByteReader) throws(ByteReader.Malformed) {
        try reader.expect(Self.format)
        session = try reader.string()
        issuedMilliseconds = try reader.number()
    }
}
