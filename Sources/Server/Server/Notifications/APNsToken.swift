import JWTKit
import StratusRuntime
import StratusService

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The token that identifies a provider to the push service: a JWT signed with ES256, used for 40 minutes.
actor APNsToken {
    private struct Claims: JWTPayload {
        var iss: IssuerClaim
        var iat: IssuedAtClaim

        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    private let key: ES256PrivateKey
    private let settings: APNsSettings
    private let world: World
    private var known: (text: String, milliseconds: Int64)?

    /// Apple refuses a token that is older than an hour, and one that is renewed more than once in 20 minutes.
    private static let lifetimeMilliseconds: Int64 = 40 * 60 * 1_000

    /// - Throws: ``APNsKeyError`` when the key cannot be read.
    init(_ settings: APNsSettings, world: World) throws {
        do {
            key = try ES256PrivateKey(pem: settings.privateKey)
        } catch {
            throw APNsKeyError()
        }
        self.settings = settings
        self.world = world
    }

    /// The current token, signed again if it is too old.
    func text() async throws -> String {
        let now = world.nowMilliseconds()
        if let known, now - known.milliseconds < Self.lifetimeMilliseconds { return known.text }
        let keys = JWTKeyCollection()
        let kid = JWKIdentifier(string: settings.keyIdentifier)
        await keys.add(ecdsa: key, kid: kid)
        // Whole seconds, as the push service reads them.
        let date = Date(timeIntervalSince1970: Double(now / 1_000))
        let text = try await keys.sign(
            Claims(iss: .init(value: settings.teamIdentifier), iat: .init(value: date)), kid: kid)
        known = (text, now)
        return text
    }

    /// Makes the next call sign again, unless that has happened since.
    func expire(_ text: String) {
        if known?.text == text { known = nil }
    }
}

/// The signing key is not an ES256 key in PEM.
package struct APNsKeyError: Error, CustomStringConvertible {
    package let description =
        "The file has no signing key for Apple's push service; give the .p8 file from Apple's"
        + " developer account."
}
