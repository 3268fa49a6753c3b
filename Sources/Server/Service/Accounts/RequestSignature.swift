import Crypto
import StratusRecords

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What a server sends instead of tokens: the three headers of a signed request, and what they sign.
///
/// Source: wire.md §1.5. The signed message is
/// `<date> ":" base64(SHA256(body)) ":" <target>`, with the target as it was sent.
public struct RequestSignature: Hashable, Sendable {
    /// `X-Apple-CloudKit-Request-KeyID`.
    package var keyID: String
    /// `X-Apple-CloudKit-Request-ISO8601Date`, as it was sent.
    package var date: String
    /// `X-Apple-CloudKit-Request-SignatureV1`: base64 of the DER form.
    package var signature: String
    /// Path and query of the request line, as they were sent.
    package var target: String
    /// SHA-256 of the body as it was sent.
    package var bodyHash: [UInt8]
    package var isBodyEmpty: Bool

    package init(
        keyID: String, date: String, signature: String, target: String, body: some DataProtocol
    ) {
        self.keyID = keyID
        self.date = date
        self.signature = signature
        self.target = target
        bodyHash = Array(SHA256.hash(data: body))
        isBodyEmpty = body.isEmpty
    }

    /// How far a signature's date may be from the service's, in milliseconds: 10 minutes.
    static let windowMilliseconds: Int64 = 10 * 60 * 1_000

    /// The date in milliseconds since 1970; nil unless it is `YYYY-MM-DDTHH:MM:SSZ`.
    var milliseconds: Int64? {
        let bytes = Array(date.utf8)
        guard bytes.count == 20 else { return nil }
        for (index, sign) in zip([4, 7, 10, 13, 16, 19], "--T::Z".utf8) where bytes[index] != sign {
            return nil
        }
        func number(_ range: Range<Int>) -> Int64? {
            var value: Int64 = 0
            for byte in bytes[range] {
                guard (0x30...0x39).contains(byte) else { return nil }
                value = value * 10 + Int64(byte - 0x30)
            }
            return value
        }
        guard let year = number(0..<4), let month = number(5..<7), (1...12).contains(month),
            let day = number(8..<10), (1...31).contains(day), let hour = number(11..<13),
            hour < 24, let minute = number(14..<16), minute < 60, let second = number(17..<19),
            second < 61
        else { return nil }
        // Days since 1970-01-01 in the Gregorian calendar, counted from 1 March of the year 0.
        let marchYear = month > 2 ? year : year - 1
        let marchMonth = (month + 9) % 12
        let days =
            365 * marchYear + marchYear / 4 - marchYear / 100 + marchYear / 400
            + (153 * marchMonth + 2) / 5 + day - 1 - 719_468
        return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000
    }

    /// Whether the date is within the window.
    func isTimely(nowMilliseconds: Int64) -> Bool {
        milliseconds.map { abs($0 - nowMilliseconds) <= Self.windowMilliseconds } ?? false
    }

    /// The messages that the signature may be over: with and without the query, and for an empty body
    /// with its hash or with nothing in its place. Clients differ in both.
    var messages: [String] {
        let path = String(target.prefix { $0 != "?" })
        let targets = path == target ? [target] : [target, path]
        let hashes = isBodyEmpty ? [Base64.text(bodyHash), ""] : [Base64.text(bodyHash)]
        return targets.flatMap { target in hashes.map { "\(date):\($0):\(target)" } }
    }

    /// Checks the signature.
    ///
    /// - Returns: r, which identifies the signature in both of its valid forms (an ECDSA signature (r, s) is as valid
    ///   as (r, n − s)). Nil when it was not made with the key.
    func check(with key: P256.Signing.PublicKey) -> [UInt8]? {
        guard let bytes = Base64.bytes(signature), bytes.count <= 80,
            let parsed = parsedSignature(bytes)
        else { return nil }
        let isGood = messages.contains {
            key.isValidSignature(parsed, for: SHA256.hash(data: Array($0.utf8)))
        }
        return isGood ? Array(parsed.rawRepresentation.prefix(32)) : nil
    }

    private func parsedSignature(_ bytes: [UInt8]) -> P256.Signing.ECDSASignature? {
        do {
            return try P256.Signing.ECDSASignature(derRepresentation: bytes)
        } catch {
            // Bytes that are no signature are refused like a wrong signature.
            return nil
        }
    }
}

/// SHA-256 as text.
enum SHA256Text {
    static func hexadecimal(of text: String) -> String {
        Hexadecimal.text(SHA256.hash(data: Array(text.utf8)))
    }
}
