import JWTKit
import Logging
import StratusRecords
import StratusRuntime
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// An OpenID Connect provider, such as Apple, whose identity tokens the service accepts.
public struct IdentityProvider: Sendable {
    /// The token's `iss`, such as `https://appleid.apple.com`.
    public var issuer: String
    /// The apps whose tokens are accepted: the token's `aud` must be one of them.
    public var audiences: Set<String>
    /// The signature algorithms that are accepted. Only public-key algorithms are possible.
    public var algorithms: Set<String>
    /// Gets the provider's public keys as JSON (RFC 7517).
    public var fetchKeys: @Sendable () async throws -> String

    /// Every algorithm that can be configured.
    public static let knownAlgorithms: Set<String> = [
        "RS256", "RS384", "RS512", "ES256", "ES384", "ES512",
    ]

    /// Makes a provider whose tokens are accepted for the given apps.
    ///
    /// - Parameter algorithms: Those that are not in ``knownAlgorithms`` are left out.
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

/// The verified contents of an identity token.
struct Identity: Hashable, Sendable {
    var issuer: String
    var subject: String
    /// Nil unless the provider has verified the address.
    var emailAddress: String?
    var givenName: String?
    var familyName: String?
}

/// Checks identity tokens, and caches the providers' keys.
actor IdentityTokens {
    /// How long cached keys are used, in milliseconds.
    private static let lifetimeMilliseconds: Int64 = 3_600_000
    /// After how long keys may be fetched again for a key that is not among them: providers change keys, but a client
    /// that invents key names must not make the service fetch each time.
    private static let pauseMilliseconds: Int64 = 60_000
    /// How far the provider's clock may differ from ours, in milliseconds.
    private static let leewayMilliseconds: Int64 = 60_000
    /// The most bytes of an identity token; providers' have one or two thousand.
    private static let tokenBytes = 16_384

    private struct Keys {
        var byName: [String: JWK]
        var fetchedMilliseconds: Int64
    }

    private let providers: [IdentityProvider]
    private let world: World
    private let logger: Logger
    private var keys: [String: Keys] = [:]
    private var fetching: [String: Task<Void, Never>] = [:]

    init(providers: [IdentityProvider], world: World, logger: Logger) {
        self.providers = providers
        self.world = world
        self.logger = logger
    }

    /// The claims of a token, once it is checked.
    ///
    /// - Parameter nonce: What the app chose for this sign-in. The token has it unchanged or, with Sign in with Apple,
    ///   as its hexadecimal SHA-256, which the app gave the provider.
    /// - Throws: ``ServiceError`` with AUTHENTICATION_FAILED, the same for every cause; TRY_AGAIN_LATER when the
    ///   provider's keys cannot be fetched.
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
            // A collection with this one key: with several, the library takes another one for an unknown name.
            let keys = try await JWTKeyCollection().add(jwk: key)
            claims = try await keys.verify(token, as: IdentityClaims.self)
        } catch let error as ServiceError {
            throw error
        } catch {
            // The library's errors say what is wrong with the token. A caller who guesses must not learn that.
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

    /// Fetches the keys once for all requests that need them at the same time.
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
            // Keys that are a little too old are better than none: the earlier ones stay. Without any,
            // `fetchedKeys(of:now:)` throws.
            logger.warning(
                "The public keys of an identity provider could not be fetched. The earlier ones stay in use, if there are any.",
                metadata: ["issuer": "\(provider.issuer)", "error": "\(error)"])
        }
        fetching[provider.issuer] = nil
    }

    /// The public keys of a set by name; those without a name or of another kind than RSA and ECDSA are left out.
    private static func keys(_ text: String) throws -> [String: JWK] {
        let set = try JSONDecoder().decode(KeySet.self, from: Data(text.utf8))
        var keys: [String: JWK] = [:]
        for key in set.keys.compactMap(\.key) where key.keyType == .rsa || key.keyType == .ecdsa {
            if let name = key.keyIdentifier?.string { keys[name] = key }
        }
        return keys
    }
}

/// A set of keys without those of unknown kinds, as RFC 7517 §5 requires.
private struct KeySet: Decodable {
    struct Entry: Decodable {
        var key: JWK?

        init(from decoder: any Decoder) throws {
            // A key of a kind that the library does not know cannot be used; a token that names it is refused.
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
    var nonce: String?
    var exp: Double
    var nbf: Double?
    var iat: Double?
    var email: String?
    /// A Boolean, or a string with one, as Apple sends it.
    var email_verified: BoolClaim?
    var given_name: String?
    var family_name: String?

    var isEmailVerified: Bool { email_verified?.value == true }

    /// Checks nothing: our clock is an argument, so ``isGood(_:_:_:leeway:)`` is called afterwards.
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
