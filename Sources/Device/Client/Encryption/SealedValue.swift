import Crypto
import Foundation
import StratusRecords
import StratusWire

/// An encrypted value as the service stores it: the bytes of an `ENCRYPTED BYTES` field.
///
/// Format 1: the bytes `SV1` and 0, the key's mark (4 bytes), then AES-GCM with a 256-bit key:
/// nonce (12), ciphertext, tag (16). The plain text is the field in the protocol's form, padded
/// with spaces to a multiple of 64 bytes. The value is bound to its container, zone, record and
/// field, so that the service cannot move it elsewhere.
struct SealedValue {
    private static let header: [UInt8] = [0x53, 0x56, 0x31, 0x00]
    /// The prefix of plain bytes if they could be mistaken for a sealed value; see ``local(_:)``.
    private static let openHeader: [UInt8] = [0x53, 0x56, 0x31, 0x01]
    private static let markCount = 4
    private static let paddingBytes = 64
    private static let fieldName = "v"

    /// The field to which a value is bound.
    struct Place {
        var container: String
        var owner: String
        var zoneName: String
        var recordName: String
        var fieldName: String

        fileprivate var bytes: Data {
            Data(lengthPrefixed([container, owner, zoneName, recordName, fieldName]))
        }
    }

    static func isSealed(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: header)
    }

    /// The mark of the key with which a value was sealed.
    static func mark(of bytes: [UInt8]) -> [UInt8] {
        Array(bytes.dropFirst(header.count).prefix(markCount))
    }

    // MARK: In archives and caches

    // Archives and caches have plain values beside sealed ones, and an app's bytes may begin like
    // either.

    /// Plain bytes with a prefix, so that they are not mistaken for a sealed value.
    static func local(_ bytes: [UInt8]) -> [UInt8] {
        bytes.starts(with: header) || bytes.starts(with: openHeader) ? openHeader + bytes : bytes
    }

    /// Reads what ``local(_:)`` wrote; nil for a sealed value.
    static func open(_ local: [UInt8]) -> [UInt8]? {
        if local.starts(with: openHeader) { return Array(local.dropFirst(openHeader.count)) }
        return isSealed(local) ? nil : local
    }

    // MARK: Encryption

    /// Encrypts a value.
    static func sealed(_ value: FieldValue, with key: ZoneKey, at place: Place) throws -> [UInt8] {
        var text = RecordFields.values([Field(name: fieldName, value: value)]).encoded()
        let missing = (paddingBytes - text.count % paddingBytes) % paddingBytes
        text += [UInt8](repeating: UInt8(ascii: " "), count: missing)
        let box = try AES.GCM.seal(
            Data(text), using: key.symmetricKey, authenticating: place.bytes)
        // With the library's 12-byte nonce the combined form is never nil.
        return header + key.mark + (box.combined.map { [UInt8]($0) } ?? [])
    }

    /// Reads what ``sealed(_:with:at:)`` wrote.
    ///
    /// - Returns: nil when it was sealed with another key or for another place, or was damaged.
    static func opened(_ bytes: [UInt8], with key: ZoneKey, at place: Place) -> FieldValue? {
        let start = header.count + markCount
        guard isSealed(bytes), bytes.count > start, mark(of: bytes) == key.mark else { return nil }
        // Why the value cannot be opened makes no difference to an app, which reads nil.
        guard let box = try? AES.GCM.SealedBox(combined: bytes[start...]),
            let text = try? AES.GCM.open(
                box, using: key.symmetricKey, authenticating: place.bytes),
            let fields = try? RecordFields.encoded([UInt8](text)).values()
        else { return nil }
        return fields.first?.value
    }
}
