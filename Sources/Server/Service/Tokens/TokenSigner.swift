import Crypto
import StratusRecords

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Authenticates the tokens that the service issues and reads back, so that it need not store them.
///
/// A signed token is its bytes followed by the first 16 bytes of HMAC-SHA256 over purpose and bytes,
/// so a token of one kind never passes for another.
struct TokenSigner: Sendable {
    /// The use of a token. The raw value is part of what is authenticated.
    enum Purpose: UInt8 {
        case changeToken = 1
        case continuationMarker = 2
        case webAuthToken = 3
        case signInRequest = 20
        case formToken = 21
        case accountProof = 22
        case recoveryCode = 23
        case uploadAddress = 30
        case downloadAddress = 31
        case assetReceipt = 32
        case fileChecksum = 33
        case referenceChecksum = 34
        case wrappingKey = 35
        case uploader = 36
    }

    private static let codeBytes = 16

    private let key: SymmetricKey
    /// Initialised with the key and copied for each code: the initialisation costs more than a code.
    private let keyed: HMAC<SHA256>

    init(key: [UInt8]) {
        self.key = SymmetricKey(data: key)
        keyed = HMAC<SHA256>(key: self.key)
    }

    func signed(_ bytes: [UInt8], for purpose: Purpose) -> [UInt8] {
        bytes + code(bytes[...], purpose)
    }

    /// The bytes that were signed; nil when they were not signed by this service, or were changed.
    func verified(_ signed: [UInt8], for purpose: Purpose) -> [UInt8]? {
        guard signed.count > Self.codeBytes else { return nil }
        let bytes = signed.dropLast(Self.codeBytes)
        let isSigned = isEqualInConstantTime(code(bytes, purpose), signed.suffix(Self.codeBytes))
        return isSigned ? Array(bytes) : nil
    }

    /// Encrypts the bytes, so that no one else can read them either: AES-GCM with a key of the purpose.
    ///
    /// The nonce is the bytes' own code: equal bytes give equal texts, and different bytes share a nonce no more often
    /// than random ones would.
    func concealed(_ bytes: [UInt8], for purpose: Purpose) throws -> [UInt8] {
        let nonce = try AES.GCM.Nonce(data: fullCode(bytes[...], purpose).prefix(12))
        let box = try AES.GCM.seal(bytes, using: concealingKey(for: purpose), nonce: nonce)
        return Array(nonce) + box.ciphertext + box.tag
    }

    /// The bytes that were encrypted; nil when this service did not encrypt them, or they were changed.
    func revealed(_ concealed: [UInt8], for purpose: Purpose) -> [UInt8]? {
        // With any failure, this service did not make the text: the caller treats it as a foreign one.
        guard let box = try? AES.GCM.SealedBox(combined: concealed),
            let bytes = try? AES.GCM.open(box, using: concealingKey(for: purpose))
        else { return nil }
        return Array(bytes)
    }

    private func concealingKey(for purpose: Purpose) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, info: [purpose.rawValue], outputByteCount: 32)
    }

    /// A code of 32 bytes that only this service can compute.
    func code(of bytes: [UInt8], for purpose: Purpose) -> [UInt8] {
        fullCode(bytes[...], purpose)
    }

    private func code(_ bytes: ArraySlice<UInt8>, _ purpose: Purpose) -> [UInt8] {
        Array(fullCode(bytes, purpose).prefix(Self.codeBytes))
    }

    private func fullCode(_ bytes: ArraySlice<UInt8>, _ purpose: Purpose) -> [UInt8] {
        var authentication = keyed
        authentication.update(data: [purpose.rawValue])
        authentication.update(data: bytes)
        return Array(authentication.finalize())
    }
}
