import Algorithms
import Crypto
import Foundation
import StratusRecords

/// An account's key in a form that a person can write down: 14 groups of four letters and digits.
///
/// The text is `CrockfordBase32`; its last three bytes are a checksum.
enum RecoveryKey {
    private static let checksumBytes = 3

    static func text(of key: AccountKey) -> String {
        CrockfordBase32.text(key.bytes + checksum(key.bytes))
            .chunks(ofCount: 4).map { String($0) }.joined(separator: "-")
    }

    /// - Returns: nil for a text with a mistake in it.
    static func key(_ text: String) -> AccountKey? {
        guard let bytes = CrockfordBase32.bytes(text),
            bytes.count == AccountKey.byteCount + checksumBytes
        else { return nil }
        let key = Array(bytes.prefix(AccountKey.byteCount))
        guard Array(bytes.suffix(checksumBytes)) == checksum(key) else { return nil }
        return AccountKey(key)
    }

    private static func checksum(_ bytes: [UInt8]) -> [UInt8] {
        Array(SHA256.hash(data: Data("stratus recovery key 1".utf8) + bytes).prefix(checksumBytes))
    }
}
