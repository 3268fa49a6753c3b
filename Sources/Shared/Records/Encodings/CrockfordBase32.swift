/// Bytes as text that a person copies by hand: Crockford's base32, which has no letter that looks like a digit.
///
/// Source: <https://www.crockford.com/base32.html>.
package enum CrockfordBase32 {
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// Five bits a letter, the last one filled with zeros.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        var (value, bits) = (0, 0)
        for byte in bytes {
            value = (value << 8 | Int(byte)) & 0xFFF
            bits += 8
            while bits >= 5 {
                bits -= 5
                text.append(alphabet[value >> bits & 31])
            }
        }
        if bits > 0 { text.append(alphabet[value << (5 - bits) & 31]) }
        return String(decoding: text, as: UTF8.self)
    }

    /// The text as `text(_:)` writes it: case, hyphens and white space do not matter, and O, I and L are read as the digits
    /// that they look like.
    package static func normalized(_ typed: String) -> String {
        String(
            typed.uppercased().filter { $0 != "-" && !$0.isWhitespace }.map { letter in
                switch letter {
                case "O": "0"
                case "I", "L": "1"
                default: letter
                }
            })
    }

    /// The bytes of a text that a person typed; bits that fill no byte are ignored.
    ///
    /// - Returns: nil if it has a letter that is not in the alphabet.
    package static func bytes(_ typed: String) -> [UInt8]? {
        var bytes: [UInt8] = []
        var (value, bits) = (0, 0)
        for letter in normalized(typed).utf8 {
            guard let digit = alphabet.firstIndex(of: letter) else { return nil }
            value = (value << 5 | digit) & 0xFFF
            bits += 5
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(value >> bits & 0xFF))
        }
        return bytes
    }
}
