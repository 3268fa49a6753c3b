import Crypto
import Foundation

/// The secret of a user in a container; every other key is derived from it.
///
/// Random numbers come only from the cryptographic library, because tests need no known key.
struct AccountKey: Sendable {
    static let byteCount = 32

    let bytes: [UInt8]

    /// - Returns: nil if the number of bytes is wrong.
    init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    init() {
        bytes = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
    }

    /// Identifies the key without revealing it; stored by the service, so that a device can check
    /// whether it has the right key.
    var identifier: [UInt8] { derived("account identifier", byteCount: 16) }

    /// Encrypts the keyring.
    var keyringKey: SymmetricKey { SymmetricKey(data: derived("keyring")) }

    /// The key of the values in one of the user's own zones.
    func zoneKey(owner: String, zoneName: String) -> ZoneKey {
        ZoneKey(bytes: derived("zone", owner, zoneName))
    }

    private func derived(_ words: String..., byteCount: Int = 32) -> [UInt8] {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: bytes),
            info: Data(lengthPrefixed(["stratus 1"] + words)), outputByteCount: byteCount
        ).withUnsafeBytes { Array($0) }
    }
}

/// Encrypts the values of one zone, for everyone who may read it.
struct ZoneKey: Hashable, Sendable {
    static let byteCount = 32

    let bytes: [UInt8]

    /// The mark in every value that was sealed with the key, which distinguishes a value of another
    /// key from a damaged one.
    let mark: [UInt8]

    init(bytes: [UInt8]) {
        self.bytes = bytes
        mark = Array(SHA256.hash(data: Data("stratus 1 mark".utf8) + bytes).prefix(4))
    }

    var symmetricKey: SymmetricKey { SymmetricKey(data: bytes) }
}

/// Encodes words as bytes such that different words give different bytes.
func lengthPrefixed(_ words: [String]) -> [UInt8] {
    words.flatMap { word in
        withUnsafeBytes(of: UInt32(word.utf8.count).bigEndian) { Array($0) } + Array(word.utf8)
    }
}
