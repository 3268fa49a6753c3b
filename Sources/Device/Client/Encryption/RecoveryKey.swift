import Algorithms
import Crypto
import Foundation

/// An account's key in a form that a person can write down: 14 groups of four letters and digits.
///
/// Crockford's alphabet without I, L, O and U; the last three bytes are a checksum.
enum RecoveryKey {
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
    private static let checksumBytes = 3

    static func text(of key: AccountKey) -> String {
        var letters: [Character] = []
        var bits = 0
        var value = 0
        for byte in key.bytes + checksum(key.bytes) {
            value = (value << 8 | Int(byte)) & 0xFFF
            bits += 8
            while bits >= 5 {
                bits -= 5
                letters.append(alphabet[value >> bits & 31])
            }
        }
        return letters.chunks(ofCount: 4).map { String($0) }.joined(separator: "-")
    }

    /// - Returns: nil for a text with a mistake in it.
    static func key(_ text: String) -> AccountKey? {
        var bytes: [UInt8] = []
        var bits = 0
        var value = 0
        for letter in text.uppercased() where letter != "-" && !letter.isWhitespace {
            let read: Character =
                switch letter {
                case "O": "0"
                case "I", "L": "1"
                default: letter
                }
            guard let digit = alphabet.firstIndex(of: read) else { return nil }
            value = (value << 5 | digit) & 0xFFF
            bits += 5
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(value >> bits & 0xFF))
            }
        }
        guard bytes.count == AccountKey.byteCount + checksumBytes else { return nil }
        let key = Array(bytes.prefix(AccountKey.byteCount))
        guard Array(bytes.suffix(checksumBytes)) == checksum(key) else { return nil }
        return AccountKey(key)
    }

    private static func checksum(_ bytes: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: Data("stratus recovery key 1".utf8) + bytes).prefix(checksumBytes))
    }
}
