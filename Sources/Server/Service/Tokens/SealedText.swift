import StratusRecords
import StratusWire

/// A text that only this service can make: it is given to clients, read back, and not stored here.
///
/// Its bytes have a format of the type's own, are authenticated for one purpose, and become base64.
protocol SealedText {
    static var purpose: TokenSigner.Purpose { get }

    /// Whether the text is used in addresses, which need URL-safe base64.
    static var isInAddresses: Bool { get }

    func write(to writer: inout ByteWriter)

    /// - Throws: ``ByteReader/Malformed``, also for a format of another version.
    init(from reader: inout ByteReader) throws(ByteReader.Malformed)
}

extension SealedText {
    func text(sealedBy signer: TokenSigner) -> String {
        var writer = ByteWriter()
        write(to: &writer)
        let sealed = signer.sealed(writer.bytes, for: Self.purpose)
        return Self.isInAddresses ? Base64.addressText(sealed) : Base64.text(sealed)
    }

    /// Reads a text; nil when this service did not make it.
    init?(text: String, signer: TokenSigner) {
        let sealed = Self.isInAddresses ? Base64.bytes(addressText: text) : Base64.bytes(text)
        guard let sealed, let bytes = signer.opened(sealed, for: Self.purpose) else { return nil }
        var reader = ByteReader(bytes)
        do {
            try self.init(from: &reader)
        } catch {
            // Sealed by this service but malformed: a format of another version, which is treated like a foreign text.
            return nil
        }
    }
}
