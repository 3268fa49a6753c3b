import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import JWTKit
import Logging
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import TestServing
import Testing

/// `POST /auth/oidc`, with keys that are fetched over HTTP from an identity provider in the test.
@Suite struct IdentityExchangeTests {
    private struct Claims: JWTPayload {
        var iss = "https://id.example.org"
        var sub = "subject"
        var aud = "org.example.Trails"
        var exp = Date().timeIntervalSince1970 + 300
        var nonce = "n"

        func verify(using algorithm: some JWTAlgorithm) throws {}
    }

    /// Runs a server that always answers with one text, while `body` runs.
    private func withProvider(
        _ text: String, status: HTTPResponse.Status = .ok,
        _ body: @escaping @Sendable (_ url: String) async throws -> Void
    ) async throws {
        let keys = everyRequest { _ in
            Response(status: status, body: .init(byteBuffer: ByteBuffer(string: text)))
        }
        try await withServer(keys) { try await body("http://127.0.0.1:\($0)/keys") }
    }

    private static func keySet(_ key: P256.Signing.PrivateKey) -> String {
        func text(_ bytes: Data) -> String {
            bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
        let raw = key.publicKey.rawRepresentation
        return """
            {"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","kid":"k",\
            "x":"\(text(raw.prefix(32)))","y":"\(text(raw.suffix(32)))"}]}
            """
    }

    private static func exchange(
        _ keys: String, token: String, apiToken: String = "development"
    ) async throws -> TestResponse {
        let place = try #require(IdentityProviderKeys(keys))
        var settings = ServiceSettings(isForDevelopment: true)
        settings.accounts.identityProviders = [
            IdentityProvider(
                issuer: "https://id.example.org", audiences: ["org.example.Trails"],
                fetchKeys: { try await place.fetch() })
        ]
        let service = CloudService(storage: SQLiteStorageEngine.inMemory(), settings: settings)
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0, logger: Logger(label: "test"),
            onListening: { _ in })
        return try await server.test(.router) { client in
            let body = """
                {"container":"iCloud.org.example.Trails","environment":"development",\
                "identityToken":"\(token)","nonce":"n"}
                """
            let answer = try await client.executeRequest(
                uri: "/auth/oidc?ckAPIToken=\(apiToken)", method: .post, headers: [:],
                body: ByteBuffer(string: body))
            guard answer.status == .ok else { return answer }
            let webAuthToken = try #require(try answer.member("ckWebAuthToken"))
                .addingPercentEncoding(withAllowedCharacters: .alphanumerics)
            let caller = try await client.executeRequest(
                uri: "/database/1/iCloud.org.example.Trails/development/public/users/caller"
                    + "?ckAPIToken=development&ckWebAuthToken=\(webAuthToken ?? "")",
                method: .get, headers: [:], body: nil)
            #expect(try caller.member("userRecordName") == answer.member("userRecordName"))
            return answer
        }
    }

    private static func token(_ key: P256.Signing.PrivateKey) async throws -> String {
        let keys = await JWTKeyCollection().add(
            ecdsa: try ES256PrivateKey(pem: key.pemRepresentation),
            kid: JWKIdentifier(string: "k"))
        return try await keys.sign(Claims(), kid: JWKIdentifier(string: "k"))
    }

    @Test func identityTokenIsExchangedForSession() async throws {
        let key = P256.Signing.PrivateKey()
        try await withProvider(Self.keySet(key)) { url in
            let token = try await Self.token(key)
            #expect(try await Self.exchange(url, token: token).status == .ok)
            let wrong = try await Self.token(P256.Signing.PrivateKey())
            #expect(try await Self.exchange(url, token: wrong).status.code == 401)
            let stranger = try await Self.exchange(url, token: token, apiToken: "x")
            #expect(stranger.status.code == 401)
        }
    }

    @Test(arguments: [
        ("no keys", HTTPResponse.Status.ok), ("{}", .ok), ("{}", .internalServerError),
    ])
    func unavailableProviderKeysReturnRetryAfter(
        _ text: String, _ status: HTTPResponse.Status
    ) async throws {
        try await withProvider(text, status: status) { url in
            let token = try await Self.token(P256.Signing.PrivateKey())
            let answer = try await Self.exchange(url, token: token)
            #expect(answer.status.code == 503)
            #expect(answer.headers[.retryAfter] != nil)
        }
    }

    @Test func insecureProviderKeyURLIsRefused() async throws {
        #expect(IdentityProviderKeys("http://id.example.org/keys") == nil)
        #expect(IdentityProviderKeys("ftp://id.example.org/keys") == nil)
        #expect(IdentityProviderKeys("http://127.0.0.1.example.org/keys") == nil)
        #expect(IdentityProviderKeys("https://id.example.org/keys") != nil)
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("stratus-keys-\(UUID().uuidString).json")
        try Data("text".utf8).write(to: file)
        let place = try #require(IdentityProviderKeys(file.path))
        #expect(try await place.fetch() == "text")
        try FileManager.default.removeItem(at: file)
    }
}
