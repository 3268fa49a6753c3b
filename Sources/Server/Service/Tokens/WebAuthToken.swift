import StratusRecords

/// The proof of a sign-in that travels with requests and is replaced with every answer.
///
/// Format 1, before sealing: the byte 1, the session's identifier as a counted string, and the time of
/// issue in milliseconds since 1970 as eight bytes. The text is base64 for addresses.
struct WebAuthToken: Hashable {
    var session: String
    /// Milliseconds since 1970.
    var issuedMilliseconds: Int64

    private static let format: UInt8 = 1

    func text(sealedBy signer: TokenSigner) -> String {
        var writer = ByteWriter()
        writer.write(Self.format)
        writer.write(session)
        writer.write(number: issuedMilliseconds)
        return Base64.addressText(signer.sealed(writer.bytes, for: .webAuthToken))
    }
}

extension WebAuthToken {
    /// Reads a token; nil when it is none of ours.
    init?(text: String, signer: TokenSigner) {
        guard let sealed = Base64.bytes(addressText: text),
            let bytes = signer.opened(sealed, for: .webAuthToken)
        else { return nil }
        var reader = ByteReader(bytes)
        do {
            guard try reader.byte() == Self.format else { return nil }
            session = try reader.string()
            issuedMilliseconds = try reader.number()
        } catch {
            // Sealed by us yet malformed: a format of another version, which is as good as none.
            return nil
        }
    }
}
