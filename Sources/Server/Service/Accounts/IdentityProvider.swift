import JWTKit
import StratusRecords
import StratusRuntime
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Somebody whose identity tokens are believed: an OpenID Connect provider, such as Apple.
public struct IdentityProvider: Sendable {
    /// The token's `iss`, such as `https://appleid.apple.com`.
    public var issuer: String
    /// The apps for which tokens are believed: the token's `aud` must be one of them.
    public var audiences: Set<String>
    /// The signatures that are believed. Only public-key ones can be.
    public var algorithms: Set<String>
    /// Gets the provider's public keys as JSON (RFC 7517).
    public var fetchKeys: @Sendable () async throws -> String

    /// Every algorithm that can be configured.
    public static let knownAlgorithms: Set<String> = [
        "RS256", "RS384", "RS512", "ES256", "ES384", "ES512",
    ]

    public init(
        issuer: String, audiences: Set<String>, algorithms: Set<String> = ["RS256", "ES256"],
        fetchKeys: @escaping @Sendable () async throws -> String
    ) {
        self.issuer = issuer
        self.audiences = audiences
        self.algorithms = algorithms.intersection(Self.knownAlgorithms)
        self.fetchKeys = fetchKeys
    }
}

/// What a believed identity token says.
struct Identity: Hashable, Sendable {
    var issuer: String
    var subject: String
    /// Only an address that the provider has verified.
    var emailAddress: String?
    var givenName: String?
    var familyName: String?
}

/// Checks identity tokens, and keeps the providers' keys meanwhile.
actor IdentityTokens {
    /// How long keys are good, in milliseconds.
    private static let lifetimeMilliseconds: Int64 = 3_600_000
    /// How soon they may be fetched again for a key that is not among them: providers change keys, but
    /// whoever invents key names must not make us ask.
    private static let pauseMilliseconds: Int64 = 60_000
    /// How far the provider's clock may be from ours, in milliseconds.
    private static let leewayMilliseconds: Int64 = 60_000
    private static let tokenBytes = 16_384

    private struct Keys {
        var byName: [String: JWK]
        var fetchedMilliseconds: Int64
    }

    private let providers: [IdentityProvider]
    private let world: World
    private var keys: [String: Keys] = [:]
    private var fetching: [String: Task<Void, Never>] = [:]

    init(_ settings: ServiceSettings) {
        providers = settings.accounts.identityProviders
        world = settings.world
    }

    /// Reads a token's claims, if it is good.
    ///
    /// - Parameter nonce: What the app chose for this sign-in: the token has it as it is or, as Sign in
    ///   with Apple does it, the hexadecimal SHA-256 of it that the app gave the provider.
    /// - Throws: ``ServiceError`` with AUTHENTICATION_FAILED, the same for every cause; TRY_AGAIN_LATER
    ///   when the provider's keys cannot be had.
    func identity(_ token: String, nonce: String) async throws -> Identity {
        guard token.utf8.count <= Self.tokenBytes, !nonce.isEmpty, nonce.utf8.count <= 255 else {
            throw ServiceError.authenticationFailed
        }
        let claims: IdentityClaims
        let provider: IdentityProvider
        do {
            let parsed = try DefaultJWTParser().parse(Array(token.utf8), as: IdentityClaims.self)
            guard case .string(let algorithm)? = parsed.header.fields["alg"],
                case .string(let keyName)? = parsed.header.fields["kid"],
                let issuer = providers.first(where: { $0.issuer == parsed.payload.iss }),
                issuer.algorithms.contains(algorithm),
                let key = try await key(keyName, of: issuer),
                key.algorithm.map({ $0.rawValue == algorithm }) ?? true
            else { throw ServiceError.authenticationFailed }
            provider = issuer
            // A collection with this one key: the library would take another where the name is unknown.
            let keys = try await JWTKeyCollection().add(jwk: key)
            claims = try await keys.verify(token, as: IdentityClaims.self)
        } catch let error as ServiceError {
            throw error
        } catch {
            // The library's errors say what is wrong with the token; the answer must not.
            throw ServiceError.authenticationFailed
        }
        guard
            claims.isGood(
                provider, nonce, world.nowMilliseconds(), leeway: Self.leewayMilliseconds)
        else { throw ServiceError.authenticationFailed }
        return Identity(
            issuer: provider.issuer, subject: claims.sub,
            emailAddress: claims.isEmailVerified ? claims.email : nil,
            givenName: claims.given_name, familyName: claims.family_name)
    }

    private func key(_ name: String, of provider: IdentityProvider) async throws -> JWK? {
        let now = world.nowMilliseconds()
        if let known = keys[provider.issuer] {
            let age = now - known.fetchedMilliseconds
            if let key = known.byName[name], age < Self.lifetimeMilliseconds { return key }
            if known.byName[name] == nil, age < Self.pauseMilliseconds { return nil }
        }
        return try await fetchedKeys(of: provider, now: now).byName[name]
    }

    /// However many ask at once, one fetches.
    private func fetchedKeys(of provider: IdentityProvider, now: Int64) async throws -> Keys {
        let task =
            fetching[provider.issuer]
            ?? world.startTask("keys of \(provider.issuer)") {
                await self.fetchKeys(of: provider, now: now)
            }
        fetching[provider.issuer] = task
        await task.value
        guard let known = keys[provider.issuer] else {
            throw ServiceError.identityProviderUnreachable
        }
        return known
    }

    private func fetchKeys(of provider: IdentityProvider, now: Int64) async {
        do {
            let text = try await provider.fetchKeys()
            keys[provider.issuer] = Keys(byName: try Self.keys(text), fetchedMilliseconds: now)
        } catch {
            // Keys that are a little too old are better than none; those of before stay, if any.
        }
        fetching[provider.issuer] = nil
    }

    /// The public keys of a set by name; others are left out.
    private static func keys(_ text: String) throws -> [String: JWK] {
        let set = try JSONDecoder().decode(KeySet.self, from: Data(text.utf8))
        var keys: [String: JWK] = [:]
        for key in set.keys.compactMap(\.key) where key.keyType == .rsa || key.keyType == .ecdsa {
            if let name = key.keyIdentifier?.string { keys[name] = key }
        }
        return keys
    }
}

/// A set of keys, of which those of unknown kinds are left out, as RFC 7517 §5 wants it.
private struct KeySet: Decodable {
    struct Entry: Decodable {
        var key: JWK?

        init(from decoder: any Decoder) throws {
            // A kind that the library does not know is no key for us.
            key = try? JWK(from: decoder)
        }
    }

    var keys: [Entry]
}

/// The claims of an identity token (OpenID Connect Core §2 and §5.1).
private struct IdentityClaims: JWTPayload {
    var iss: String
    var sub: String
    var aud: AudienceClaim
    var exp: Double
    var nbf: Double?
    var iat: Double?
    var nonce: String?
    var email: String?
    /// A Boolean, or Apple's string of one.
    var email_verified: BoolClaim?
    var given_name: String?
    var family_name: String?

    var isEmailVerified: Bool { email_verified?.value == true }

    /// Nothing: the clock is an argument of ours, so ``isGood(_:_:_:leeway:)`` is asked afterwards.
    func verify(using algorithm: some JWTAlgorithm) throws {}

    func isGood(
        _ provider: IdentityProvider, _ nonce: String, _ nowMilliseconds: Int64, leeway: Int64
    ) -> Bool {
        let now = Double(nowMilliseconds) / 1_000
        let leeway = Double(leeway) / 1_000
        let hashedNonce = SHA256Text.hexadecimal(of: nonce)
        return iss == provider.issuer && !sub.isEmpty && sub.utf8.count <= 255
            && aud.value.contains(where: provider.audiences.contains)
            && now < exp + leeway && (nbf ?? 0) <= now + leeway && (iat ?? 0) <= now + leeway
            && (self.nonce == nonce || self.nonce == hashedNonce)
    }
}
