import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import Testing

/// The sign-in page sends a browser with its token only to the callback address of the API token.
@Suite struct ServerCallbackTests {
    private static let container = "iCloud.org.example.Trails"

    /// Addresses that look like the listener's but are different.
    private static let forged = [
        "http://127.0.0.1:8080", "http://127.0.0.1/", "http://127.0.0.1:/", "http://127.0.0.1:0/",
        "http://127.0.0.1:65536/", "http://127.0.0.1:080/", "http://127.0.0.1:+80/",
        "http://127.0.0.1:8080.evil/", "http://127.0.0.1.evil:8080/", "http://127.0.0.1:80@evil/",
        "http://127.0.0.1@evil:8080/", "http://evil:8080/", "http://localhost:8080/",
        "http://127.1:8080/", "http://2130706433:8080/", "https://127.0.0.1:8080/",
        "HTTP://127.0.0.1:8080/", "http://127.0.0.1:8080/..", "http://127.0.0.1:8080//evil",
        "http://127.0.0.1:8080/?a=b", "http://127.0.0.1:8080/?ckWebAuthToken=evil",
        "http://127.0.0.1:8080/#", "http://127.0.0.1:8080\\@evil/", " http://127.0.0.1:8080/",
        "http://127.0.0.1:8080/\r\nSet-Cookie: a=b", "http://127.0.0.1:\u{0661}/", "//evil/",
        "javascript:alert(1)", "data:text/html,x", "http://[::1]:8080/", "http://127.0.0.1:8080/x",
    ]

    @Test func loopbackAddressAllowsAnyPortAndNothingElse() throws {
        let loopback = try #require(CallbackAddress(CallbackAddress.loopback))
        for port in [1, 8_080, 65_535] {
            #expect(loopback.allows("http://127.0.0.1:\(port)/"))
        }
        for address in Self.forged { #expect(!loopback.allows(address), "\(address)") }
        let deep = try #require(CallbackAddress("http://[::1]/trails?a=b"))
        #expect(deep.allows("http://[::1]:9/trails?a=b"))
        for address in [
            "http://[::1]:9/", "http://[::1]:9/trails", "http://127.0.0.1:9/trails?a=b",
        ] {
            #expect(!deep.allows(address))
        }
    }

    @Test func otherCallbackAddressesMatchExactly() throws {
        let web = try #require(CallbackAddress("https://app.example.org/in?a=b"))
        #expect(web.allows("https://app.example.org/in?a=b"))
        #expect(web.source == "https://app.example.org")
        for address in [
            "https://app.example.org/in", "https://app.example.org/in?a=b&c=d",
            "https://app.example.org/in?a=b/../x", "https://APP.example.org/in?a=b",
            "https://app.example.org.evil/in?a=b", "https://app.example.org:443/in?a=b",
        ] {
            #expect(!web.allows(address))
        }
        let app = try #require(CallbackAddress("org.example.trails:/signed-in"))
        #expect(app.allows("org.example.trails:/signed-in"))
        #expect(!app.allows("org.example.trails://signed-in"))
        #expect(app.source == "org.example.trails:")
        for text in [
            "trails:/in", "javascript:/in", "data:/in", "file:/in", ".org:/in", "org..x:/in",
            "org.example.:/in", "org.example.trails:in", "org.example.trails;x:/in", "",
            "https://app.example.org/#x", "https://user@app.example.org/", "9org.example:/in",
        ] {
            #expect(CallbackAddress(text) == nil, "\(text)")
        }
    }

    @Test func forgedCallbacksGetNeitherPageNorToken() async throws {
        try await withServer { client, service, request in
            func page(_ callback: String, state: String = "s") async throws -> TestResponse {
                let query = "callback=\(escaped(callback))&state=\(escaped(state))"
                return try await client.executeRequest(
                    uri: "/auth/sign-in?\(request)&\(query)", method: .get, headers: [:], body: nil)
            }
            let good = "http://127.0.0.1:8080/"
            let form = try await page(good)
            #expect(form.status == .ok)
            // An app on a device stays signed in, unless the user chooses otherwise.
            #expect(form.text.contains("name=\"stay\" value=\"1\" checked"))
            #expect(
                form.headers[.contentSecurityPolicy]?
                    .contains("form-action 'self' http://127.0.0.1:8080;") == true)
            for callback in Self.forged {
                #expect(try await page(callback).status == .forbidden, "\(callback)")
            }
            for state in [
                "a b", "a&b=c", "a\r\nb", "\"><script>", String(repeating: "a", count: 129),
            ] {
                let refused = try await page(good, state: state)
                #expect(refused.status == .forbidden && !refused.text.contains("\"><script>"))
            }
            // The form may have been changed after the page checked it.
            let cookie = try #require(form.headers[.setCookie]?.split(separator: ";").first)
            var fields = ["email": "ida@example.org", "password": "correct horse"]
            for match in form.text.matches(of: /<input type="hidden" name="(\w+)" value="([^"]*)">/)
            {
                fields[String(match.1)] = String(match.2)
            }
            func post(_ callback: String) async throws -> TestResponse {
                fields["callback"] = callback
                let body = fields.map { "\($0)=\(escaped($1))" }.joined(separator: "&")
                return try await client.executeRequest(
                    uri: "/auth/sign-in", method: .post, headers: [.cookie: String(cookie)],
                    body: ByteBuffer(string: body))
            }
            for callback in Self.forged {
                let refused = try await post(callback)
                #expect(refused.status == .forbidden && refused.headers[.location] == nil)
                #expect(!refused.text.contains("data-token"))
            }
            let done = try await post(good)
            #expect(done.status == .seeOther)
            #expect(done.headers[.location]?.hasPrefix(good + "?ckWebAuthToken=") == true)
            #expect(done.headers[.location]?.hasSuffix("&state=s") == true)
        }
    }

    /// Programs without a browser.
    @Test func passwordIsExchangedForToken() async throws {
        try await withServer { client, service, _ in
            let token = try await service.accounts.apiTokens()[0].token
            func exchange(_ password: String, _ apiToken: String) async throws -> TestResponse {
                let body = """
                    {"container":"\(Self.container)","environment":"development",
                    "emailAddress":"ida@example.org","password":"\(password)"}
                    """
                return try await client.executeRequest(
                    uri: "/auth/password?ckAPIToken=\(apiToken)", method: .post,
                    headers: [.origin: "https://evil.example.org"], body: ByteBuffer(string: body))
            }
            let done = try await exchange("correct horse", token)
            #expect(done.status == .ok)
            #expect(try done.member("ckWebAuthToken") != nil)
            // A page of another origin gets no token.
            #expect(done.headers[.accessControlAllowOrigin] == nil)
            let wrong = try await exchange("wrong horse", token)
            #expect(wrong.status == .unauthorized)
            #expect(try wrong.member("serverErrorCode") == "AUTHENTICATION_FAILED")
            #expect(wrong.text.contains(#""stratusErrorCode":1004"#))
            #expect(try await exchange("correct horse", "unknown").status == .unauthorized)
            for _ in 0..<9 { _ = try await exchange("wrong horse", token) }
            #expect(try await exchange("wrong horse", token).status == .tooManyRequests)
        }
    }

    /// Runs a body with a client of a service without `--dev`, and the query of a sign-in page's address.
    private func withServer(
        _ body:
            @escaping @Sendable (any TestClientProtocol, CloudService, String) async throws ->
            Void
    ) async throws {
        let service = CloudService.withAccounts()
        _ = try await service.accounts.createUser(
            emailAddress: "ida@example.org", password: "correct horse", givenName: "",
            familyName: "", isEmailVerified: false)
        let token = try await service.accounts.createAPIToken(
            for: ContainerAddress(container: Self.container, environment: .development),
            name: "app", callbackURL: CallbackAddress.loopback)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0, logger: logger, onListening: { _ in })
        try await server.test(.router) { client in
            let refused = try await client.executeRequest(
                uri: "/database/1/\(Self.container)/development/public/users/caller"
                    + "?ckAPIToken=\(token)", method: .get, headers: [:], body: nil)
            let url = try #require(try refused.member("redirectURL"))
            try await body(client, service, String(try #require(url.split(separator: "?").last)))
        }
    }
}

private func escaped(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
}
