import Foundation

/// The name under which a client wants an asset's file: what it put for `${f}` in a download's address.
struct AssetName {
    /// Bytes of a name; file systems take no more.
    private static let maximumBytes = 255

    /// Without what could end a header, or lead to another folder.
    let text: String

    /// - Parameter segment: As it stands in the address, percent-encoded.
    /// - Returns: nil where there is no name: nothing stands there, or the place for one.
    init?(inAddress segment: String) {
        guard let name = segment.removingPercentEncoding, name != "${f}" else { return nil }
        text = String(
            name.unicodeScalars.map { scalar in
                scalar.properties.generalCategory == .control
                    || "/\\".unicodeScalars.contains(scalar)
                    ? "_" : Character(scalar)
            })
        guard (1...Self.maximumBytes).contains(text.utf8.count), text != ".", text != ".." else {
            return nil
        }
    }

    /// The header's value (RFC 6266): the name itself, and before it one in ASCII for old readers.
    var contentDisposition: String {
        let plain = text.unicodeScalars.map { scalar in
            scalar.isASCII && scalar != "\"" && scalar != "%" ? Character(scalar) : "_"
        }
        let escaped = text.utf8.map { byte in
            Self.isPlain(byte) ? String(UnicodeScalar(byte)) : String(format: "%%%02X", byte)
        }
        return "attachment; filename=\"\(String(plain))\"; filename*=UTF-8''\(escaped.joined())"
    }

    /// `attr-char` of RFC 5987, but for signs that need no care.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."),
            UInt8(ascii: "_"), UInt8(ascii: "~"):
            true
        default: false
        }
    }
}
