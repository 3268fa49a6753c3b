import Crypto
import Foundation
import JWTKit
import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import Synchronization
import Testing

/// Identity tokens of an OpenID Connect provider in the test, with its own keys.
@Suite struct IdentityTests {
    private struct Claims: JWTPayload {
        var iss = "https://id.example.org"
        var sub = "subject-1"
        var aud = ["org.example.Trails"]
        var exp: Double
        var nbf: Double?
        var iat: Double?
        var nonce: String? = "nonce"
        var email: String? = "Ida@Example.org"
        var email_verified: String? = "true"
        var given_name: String? = "Ida"

        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    /// The identity provider.
    private final class Provider: Sendable {
        let published = Mutex(Published())

        struct Published {
            var keys: [String: P256.Signing.PrivateKey] = [:]
            var fetches = 0
            var isDown = false
        }

        struct Down: Error {}

        init() { addKey("one") }

        func addKey(_ name: String) {
            published.withLock { $0.keys[name] = P256.Signing.PrivateKey() }
        }

        func fetch() throws -> String {
            try published.withLock { published in
                published.fetches += 1
                if published.isDown { throw Down() }
                let keys = published.keys.map { name, key in
                    let raw = key.publicKey.rawRepresentation
                    return """
                        {"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","kid":"\(name)",\
                        "x":"\(Self.text(raw.prefix(32)))","y":"\(Self.text(raw.suffix(32)))"}
                        """
                }
                let odd = #"{"kty":"AKP","kid":"new kind"},{"kty":"oct","kid":"shared","k":"AAAA"}"#
                return #"{"keys":[\#((keys + [odd]).joined(separator: ","))]}"#
            }
        }

        func token(_ claims: Claims, key name: String = "one") async throws -> String {
            let key = published.withLock { $0.keys[name] } ?? P256.Signing.PrivateKey()
            let collection = await JWTKeyCollection().add(
                ecdsa: try ES256PrivateKey(pem: key.pemRepresentation),
                kid: JWKIdentifier(string: name))
            return try await collection.sign(claims, kid: JWKIdentifier(string: name))
        }

        static func text(_ bytes: Data) -> String {
            bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
    }

    private let provider = Provider()

    private func world(_ storage: any StorageEngine = SQLiteStorageEngine.inMemory()) -> World {
        let provider = provider
        return World(
            storage,
            accounts: AccountSettings(identityProviders: [
                IdentityProvider(
                    issuer: "https://id.example.org", audiences: ["org.example.Trails"],
                    fetchKeys: { try provider.fetch() })
            ]))
    }

    private func claims(_ world: World) -> Claims {
        Claims(exp: Double(world.nowMilliseconds) / 1_000 + 300)
    }

    private func exchange(
        _ world: World, _ token: String, nonce: String = "nonce", apiToken: String = "development"
    ) async throws -> Accounts.SignIn {
        try await world.service.signIn(
            identityToken: token, nonce: nonce, staysSignedIn: false,
            credentials: Credentials(apiToken: apiToken), at: world.address,
            networkAddress: "192.0.2.1")
    }

    private func refusal(
        _ world: World, _ token: String, nonce: String = "nonce", apiToken: String = "development"
    ) async -> ServiceError? {
        do {
            _ = try await exchange(world, token, nonce: nonce, apiToken: apiToken)
            return nil
        } catch {
            return (error as? RequestFailure)?.error
        }
    }

    @Test func throttledExchangeReturnsRetryAfter() async throws {
        let world = world()
        var refused: ServiceError?
        for _ in 0..<100 where refused?.code != .throttled {
            refused = await refusal(world, "no token")
        }
        #expect(refused?.code == .throttled)
        #expect(refused?.frameworkCode == .requestRateLimited)
        #expect((refused?.retryAfterSeconds ?? 0) > 0)
    }

    @Test(arguments: Backend.allCases)
    func identitySubjectDeterminesUser(_ backend: Backend) async throws {
        let world = world(try backend.storage())
        let first = try await exchange(world, provider.token(claims(world)))
        let again = try await exchange(world, provider.token(claims(world)))
        #expect(first.userRecordName == again.userRecordName && first.session != again.session)
        var other = claims(world)
        other.sub = "subject-2"
        let stranger = try await exchange(world, provider.token(other))
        #expect(stranger.userRecordName != first.userRecordName)
        let user = try await world.service.accounts.user(first.userRecordName)
        #expect(user.emailAddress == "ida@example.org" && user.isEmailVerified)
        #expect(user.givenName == "Ida" && user.passwordHash == nil)
        // The address is verified for the first user only.
        let second = try await world.service.accounts.user(stranger.userRecordName)
        #expect(!second.isEmailVerified)
        _ = try await world.service.respond(
            to: UsersCaller.self, .init(),
            from: Credentials(apiToken: "development", webAuthToken: first.webAuthToken),
            at: world.address, scope: .public)
    }

    @Test func unverifiedEmailAddressIsNotStored() async throws {
        let world = world()
        var claims = claims(world)
        claims.email_verified = "false"
        let signIn = try await exchange(world, provider.token(claims))
        let user = try await world.service.accounts.user(signIn.userRecordName)
        #expect(user.emailAddress == nil && !user.isEmailVerified)
    }

    @Test func hashedNonceIsAccepted() async throws {
        let world = world()
        var claims = claims(world)
        claims.nonce = SHA256.hash(data: Data("nonce".utf8)).map {
            ($0 < 16 ? "0" : "") + String($0, radix: 16)
        }.joined()
        #expect(await refusal(world, try await provider.token(claims)) == nil)
    }

    @Test func invalidIdentityTokensReturnTheSameError() async throws {
        let world = world()
        let now = Double(world.nowMilliseconds) / 1_000
        var bad: [String] = ["", "a.b.c", "..", "x"]
        func add(_ change: (inout Claims) -> Void) async throws {
            var claims = claims(world)
            change(&claims)
            bad.append(try await provider.token(claims))
        }
        try await add { $0.iss = "https://evil.example.org" }
        try await add { $0.aud = ["org.example.Other"] }
        try await add { $0.sub = "" }
        try await add { $0.exp = now - 61 }
        try await add { $0.nbf = now + 3_600 }
        try await add { $0.iat = now + 3_600 }
        try await add { $0.nonce = nil }
        try await add { $0.nonce = "another" }
        // Signed with a key that the provider does not have.
        bad.append(try await Provider().token(claims(world)))
        bad.append(try await provider.token(claims(world), key: "unknown"))
        // Without a signature, and with the public key as a shared secret.
        let parts = try await provider.token(claims(world)).split(separator: ".")
        for header in [
            #"{"alg":"none","kid":"one"}"#, #"{"alg":"HS256","kid":"one"}"#,
            #"{"alg":"ES256","kid":"shared"}"#, #"{"alg":"ES256"}"#, "{}",
        ] {
            let head = Provider.text(Data(header.utf8))
            bad.append("\(head).\(parts[1]).")
            bad.append("\(head).\(parts[1]).\(parts[2])")
        }
        bad.append(String(repeating: "x", count: 20_000))
        let expected = ServiceError(.authenticationFailed, "Authentication failed")
        for token in bad {
            #expect(await refusal(world, token) == expected, "\(token)")
            world.advance(seconds: 10)
        }
        let good = try await provider.token(claims(world))
        #expect(await refusal(world, good, nonce: "") == expected)
        #expect(await refusal(world, good, apiToken: "wrong") == expected)
        #expect(await refusal(world, good) == nil)
    }

    @Test func providerKeysAreRefetchedAtMostOncePerMinute() async throws {
        let world = world()
        func fetches() -> Int { provider.published.withLock { $0.fetches } }
        for _ in 0..<5 {
            #expect(await refusal(world, try await provider.token(claims(world))) == nil)
        }
        #expect(fetches() == 1)
        for number in 0..<5 {
            let token = try await provider.token(claims(world), key: "invented \(number)")
            #expect(await refusal(world, token)?.code == .authenticationFailed)
        }
        #expect(fetches() == 1)
        provider.addKey("two")
        world.advance(seconds: 61)
        let token = try await provider.token(claims(world), key: "two")
        #expect(await refusal(world, token) == nil)
        #expect(fetches() == 2)
        // A key that the provider withdrew is refused after an hour.
        provider.published.withLock { $0.keys["two"] = nil }
        world.advance(seconds: 3_601)
        let withdrawn = try await provider.token(claims(world), key: "two")
        #expect(await refusal(world, withdrawn)?.code == .authenticationFailed)
    }

    @Test func exchangeAttemptsAreLimitedPerAddress() async throws {
        let world = world()
        for _ in 0..<60 {
            #expect(await refusal(world, "x")?.code == .authenticationFailed)
        }
        let refused = await refusal(world, try await provider.token(claims(world)))
        #expect(refused?.code == .throttled && refused?.retryAfterSeconds != nil)
    }

    @Test func missingProviderKeysReturnTryAgainLater() async throws {
        let world = world()
        provider.published.withLock { $0.isDown = true }
        let token = try await provider.token(claims(world))
        #expect(await refusal(world, token)?.code == .tryAgainLater)
        provider.published.withLock { $0.isDown = false }
        #expect(await refusal(world, token) == nil)
    }
}
