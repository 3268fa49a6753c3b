import StratusRecords
import StratusWire

/// A text that only this service can make: it is given to clients, read back, and not stored here.
///
/// Its bytes have a format of the type's own, are authenticated for one purpose, and become base64.
protocol SignedText {
    static var purpose: TokenSigner.Purpose { get }

    /// Whether the text is used in addresses, which need URL-safe base64.
    static var isInAddresses: Bool { get }

    func write(to writer: inout ByteWriter)

    /// - Throws: ``ByteReader/Malformed``, also for a format of another version.
    init(from reader: inout ByteReader) throws(ByteReader.Malformed)
}

extension SignedText {
    func text(signedBy signer: TokenSigner) -> String {
        var writer = ByteWriter()
        write(to: &writer)
        let signed = signer.signed(writer.bytes, for: Self.purpose)
        return Self.isInAddresses ? Base64.addressText(signed) : Base64.text(signed)
    }

    /// Reads a text; nil when this service did not make it.
    init?(text: String, signer: TokenSigner) {
        let signed = Self.isInAddresses ? Base64.bytes(addressText: text) : Base64.bytes(text)
        guard let signed, let bytes = signer.verified(signed, for: Self.purpose) else { return nil }
        var reader = ByteReader(bytes)
        do {
            try self.init(from: &reader)
        } catch {
            // Signed by this service but malformed: a format of another version, which is treated like a foreign text.
            return nil
        }
    }
}
