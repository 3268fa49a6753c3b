/// Text as a part of an address, or of a file's name: bytes that are not kept become `%` and two hexadecimal digits in
/// upper case (RFC 3986).
package enum PercentEncoding {
    private static let digits: StaticString = "0123456789ABCDEF"

    /// Encodes the text's UTF-8.
    ///
    /// - Parameter isKept: Whether a byte stays as it is; by default those that stay in every part of an address.
    package static func text(
        _ text: String, keeping isKept: (_ byte: UInt8) -> Bool = PercentEncoding.isUnreserved
    ) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            if isKept(byte) {
                encoded.append(byte)
            } else {
                encoded.append(UInt8(ascii: "%"))
                encoded.append(digits.utf8Start[Int(byte >> 4)])
                encoded.append(digits.utf8Start[Int(byte & 15)])
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    /// Whether a byte is a letter or digit of ASCII, or one of `-._~`.
    package static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: isAlphanumeric(byte)
        }
    }

    /// Whether a byte is a letter or digit of ASCII.
    package static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"):
            true
        default: false
        }
    }
}
