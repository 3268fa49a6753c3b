import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import Testing

/// The pages for users and the flow that leads to them (wire.md §1.4), as a browser sees them.
@Suite struct SignInPagesTests {
    private static let container = "iCloud.org.example.Trails"
    private static let address = ContainerAddress(
        container: container, environment: .development)

    private func withServer(
        publicOrigin: String? = nil, trustedProxies: TrustedProxies = .none,
        isForDevelopment: Bool = true,
        _ body: @escaping @Sendable (Browser, CloudService) async throws -> Void
    ) async throws {
        // The clock stands still: no attempt is forgotten while a test is slow.
        var settings = ServiceSettings(
            isForDevelopment: isForDevelopment,
            world: .init(
                nowMilliseconds: { 1_800_000_000_000 }, uptimeSeconds: { 1_000 })
        )
        settings.accounts = AccountSettings(
            signUp: .open, passwordCost: .init(logRounds: 1, blockSize: 1, parallelism: 1))
        let service = CloudService(storage: SQLiteStorageEngine.inMemory(), settings: settings)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0, publicOrigin: publicOrigin,
            trustedProxies: trustedProxies, logger: logger, onListening: { _ in })
        // A proxy is identified by its address, which only a connection has.
        try await server.test(trustedProxies == .none ? .router : .live) { client in
            try await body(Browser(client: client, ownOrigin: publicOrigin), service)
        }
    }

    /// What a user does in a browser.
    private struct Browser: Sendable {
        let client: any TestClientProtocol
        let ownOrigin: String?

        func get(
            _ path: String, cookie: String? = nil, origin: String? = nil,
            method: HTTPRequest.Method = .get
        ) async throws -> TestResponse {
            var headers = HTTPFields()
            headers[.cookie] = cookie
            headers[.origin] = origin
            return try await client.executeRequest(
                uri: path, method: method, headers: headers, body: nil)
        }

        func post(
            _ path: String, _ fields: [String: String], cookie: String?, origin: String? = nil,
            site: String? = nil
        ) async throws -> TestResponse {
            var headers = HTTPFields()
            headers[.cookie] = cookie
            headers[.origin] = origin ?? ownOrigin
            headers[.contentType] = "application/x-www-form-urlencoded"
            if let site, let name = HTTPField.Name("Sec-Fetch-Site") { headers[name] = site }
            let body = fields.map { "\($0)=\(escaped($1))" }.joined(separator: "&")
            return try await client.executeRequest(
                uri: path, method: .post, headers: headers, body: ByteBuffer(string: body))
        }

        /// The address of the sign-in page, as a refused request names it.
        func redirectURL(apiToken: String = "development") async throws -> String {
            let refused = try await get(callerPath(apiToken: apiToken))
            #expect(refused.status.code == 421)
            return try #require(try refused.member("redirectURL"))
        }

        /// The form of the sign-in or the sign-up page.
        func form(
            _ page: String = "sign-up", apiToken: String = "development"
        ) async throws -> Form {
            let url = try await redirectURL(apiToken: apiToken)
            let request = try #require(url.split(separator: "=").last)
            return try Form(await get("/auth/\(page)?request=\(request)"))
        }
    }

    /// A page's form with its hidden fields, and the cookie that came with it.
    private struct Form: Sendable {
        var fields: [String: String] = [:]
        let cookie: String
        let page: TestResponse

        init(_ page: TestResponse) throws {
            self.page = page
            #expect(page.status == .ok)
            let html = page.text
            for match in html.matches(of: /<input type="hidden" name="(\w+)" value="([^"]*)">/) {
                fields[String(match.1)] = String(match.2)
            }
            cookie = String(
                try #require(page.headers[.setCookie]?.split(separator: ";").first))
        }

        func filled(
            _ address: String = "ida@example.org", _ password: String = "correct horse",
            more: [String: String] = [:]
        ) -> [String: String] {
            fields.merging(["email": address, "password": password]) { $1 }.merging(more) { $1 }
        }
    }

    private static func token(in page: TestResponse) throws -> String {
        let match = try #require(page.text.firstMatch(of: /data-token="([^"]+)"/))
        return String(match.1)
    }

    // MARK: The flow

    @Test func signUpPageSendsTokenToOpener() async throws {
        try await withServer { browser, _ in
            let form = try await browser.form()
            #expect(form.page.text.contains("<label for=\"email\">"))
            #expect(form.page.headers[.cacheControl] == "no-store")
            let policy = try #require(form.page.headers[.contentSecurityPolicy])
            #expect(policy.contains("default-src 'none'"))
            #expect(policy.contains("frame-ancestors 'none'"))
            let cookie = try #require(form.page.headers[.setCookie])
            #expect(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"))
            let done = try await browser.post(
                "/auth/sign-up",
                form.filled(more: ["given": "Ida & Ole", "discoverable": "1", "stay": "1"]),
                cookie: form.cookie)
            #expect(done.status == .ok)
            #expect(done.text.contains(#"data-origins="*""#))
            #expect(done.text.contains("ckWebAuthToken:d.token"))
            let token = try Self.token(in: done)
            let caller = try await browser.get(callerPath(token: token))
            #expect(caller.status == .ok)
            #expect(caller.text.contains("Ida & Ole"))

            let again = try await browser.form("sign-in")
            let signedIn = try await browser.post(
                "/auth/sign-in", again.filled("IDA@example.org"), cookie: again.cookie)
            #expect(try Self.token(in: signedIn) != token)
        }
    }

    @Test func signUpRedirectsTokenToCallback() async throws {
        try await withServer { browser, service in
            let apiToken = try await service.accounts.createAPIToken(
                for: Self.address, name: "web", callbackURL: "https://app.example.org/in?a=b")
            let form = try await browser.form(apiToken: apiToken)
            let policy = try #require(form.page.headers[.contentSecurityPolicy])
            #expect(policy.contains("form-action 'self' https://app.example.org;"))
            let done = try await browser.post(
                "/auth/sign-up", form.filled(), cookie: form.cookie)
            #expect(done.status == .seeOther)
            let location = try #require(done.headers[.location])
            let match = try #require(
                location.wholeMatch(
                    of: /https:\/\/app\.example\.org\/in\?a=b&ckWebAuthToken=(.+)&ckSession=(.+)/))
            #expect(match.1 == match.2)
            let token = try #require(String(match.1).removingPercentEncoding)
            let caller = try await browser.get(callerPath(apiToken: apiToken, token: token))
            #expect(caller.status == .ok)
        }
    }

    @Test func signInPageSendsTokenToAllowedOriginsOnly() async throws {
        try await withServer { browser, service in
            let apiToken = try await service.accounts.createAPIToken(
                for: Self.address, name: "web",
                allowedOrigins: ["https://a.example.org", "https://b.example.org"])
            let form = try await browser.form(apiToken: apiToken)
            let done = try await browser.post(
                "/auth/sign-up", form.filled(), cookie: form.cookie)
            #expect(
                done.text.contains(
                    #"data-origins="https://a.example.org https://b.example.org""#))
        }
    }

    @Test func formInputIsEscapedInPage() async throws {
        try await withServer { browser, _ in
            let form = try await browser.form("sign-in")
            let evil = #""><script>alert(1)</script>"#
            let refused = try await browser.post(
                "/auth/sign-in", form.filled(evil, "x"), cookie: form.cookie)
            #expect(refused.status.code == 400)
            #expect(!refused.text.contains("<script>alert"))
            #expect(refused.text.contains("&lt;script&gt;"))
            #expect(refused.text.contains(#"role="alert""#))
            #expect(!refused.text.contains("data-token"))
        }
    }

    // MARK: Forms from other sites

    @Test func crossSiteFormIsRefused() async throws {
        for origin in [nil, "https://cloud.example.org"] {
            try await withServer(publicOrigin: origin) { browser, service in
                let form = try await browser.form()
                let victim = try await browser.form()
                let attempts = [
                    try await browser.post("/auth/sign-up", form.filled(), cookie: nil),
                    try await browser.post(
                        "/auth/sign-up", form.filled(), cookie: victim.cookie),
                    try await browser.post(
                        "/auth/sign-up", form.filled(), cookie: form.cookie,
                        origin: "https://evil.example.org"),
                    try await browser.post(
                        "/auth/sign-up", form.filled(), cookie: form.cookie, origin: "null"),
                    try await browser.post(
                        "/auth/sign-up", form.filled(), cookie: form.cookie, site: "cross-site"),
                    try await browser.post(
                        "/auth/sign-up", form.filled(more: ["form": ""]), cookie: form.cookie),
                    try await browser.post(
                        "/auth/sign-up", form.filled(more: ["request": "x"]),
                        cookie: form.cookie),
                ]
                for attempt in attempts {
                    #expect(attempt.status.code == 400)
                    #expect(!attempt.text.contains("data-token"))
                }
                #expect(try await service.accounts.users(after: "", limit: 10).isEmpty)
                let own = try await browser.post(
                    "/auth/sign-up", form.filled(), cookie: form.cookie, site: "same-origin")
                #expect(own.text.contains("data-token"))
            }
        }
    }

    @Test func publicOriginDeterminesSecureCookieAndPageURL() async throws {
        try await withServer(publicOrigin: "https://cloud.example.org") { browser, _ in
            let url = try await browser.redirectURL()
            #expect(url.hasPrefix("https://cloud.example.org/auth/sign-in?request="))
            let form = try await browser.form()
            #expect(form.cookie.hasPrefix("__Host-stratus-form="))
            #expect(form.page.headers[.setCookie]?.contains("; Secure") == true)
        }
    }

    @Test func proxyHeaderDeterminesNetworkAddress() async throws {
        let proxies = try #require(TrustedProxies("127.0.0.0/8,::1"))
        try await withServer(
            publicOrigin: "https://cloud.example.org", trustedProxies: proxies
        ) { browser, _ in
            let form = try await browser.form("sign-in")
            func attempt(_ number: Int, from address: String) async throws -> Int {
                var headers = HTTPFields()
                headers[.cookie] = form.cookie
                headers[.origin] = "https://cloud.example.org"
                if let name = HTTPField.Name("X-Forwarded-For") {
                    // A client's own claim comes before what the proxy adds.
                    headers[name] = "10.9.8.\(number), \(address)"
                }
                let fields = form.filled("user\(number)@example.org", "password")
                let body = fields.map { "\($0)=\(escaped($1))" }.joined(separator: "&")
                return try await browser.client.executeRequest(
                    uri: "/auth/sign-in", method: .post, headers: headers,
                    body: ByteBuffer(string: body)
                ).status.code
            }
            for number in 0..<60 {
                #expect(try await attempt(number, from: "192.0.2.1") == 400)
            }
            #expect(try await attempt(60, from: "192.0.2.1") == 429)
            #expect(try await attempt(61, from: "192.0.2.2") == 400)
        }
    }

    /// Bytes that no browser sends are answered with an error page.
    @Test func malformedFormsAreRefused() async throws {
        try await withServer { browser, _ in
            let form = try await browser.form("sign-in")
            let token = form.fields["form"] ?? ""
            let bodies: [[UInt8]] = [
                [], [0], [0xFF, 0xFE, 0x3D, 0xFF], Array("&&&===&=".utf8),
                Array("form=%zz&request=%".utf8), Array("form".utf8),
                Array("form=\(token)&request=%00%FF%C0%80".utf8),
                Array("form=\(token)&form=&request=\(form.fields["request"] ?? "")".utf8),
                Array(#"{"form":"x"}"#.utf8), Array(repeating: 0x61, count: 20_000),
            ]
            for path in ["sign-in", "sign-up", "sign-out"] {
                for body in bodies {
                    let answer = try await browser.client.executeRequest(
                        uri: "/auth/\(path)", method: .post, headers: [.cookie: form.cookie],
                        body: ByteBuffer(bytes: body))
                    #expect([200, 400, 413].contains(answer.status.code), "\(body)")
                    #expect(answer.headers[.contentType] == "text/html; charset=UTF-8")
                    #expect(!answer.text.contains("data-token"))
                }
                let address = "/auth/\(path)?request=%00%FF&ckWebAuthToken=%22%3E%3Cscript%3E"
                let page = try await browser.get(address)
                #expect([200, 400].contains(page.status.code))
                #expect(!page.text.contains("\"><script>"))
            }
        }
    }

    // MARK: Signing out

    @Test func signOutPageEndsSession() async throws {
        try await withServer { browser, service in
            let signIn = try await service.signInForDevelopment(user: "alice")
            let token = signIn.webAuthToken
            let form = try Form(
                await browser.get("/auth/sign-out?ckWebAuthToken=\(escaped(token))"))
            #expect(try await browser.get(callerPath(token: token)).status == .ok)
            let out = try await browser.post(
                "/auth/sign-out", form.fields, cookie: form.cookie)
            #expect(out.status == .ok)
            #expect(try await browser.get(callerPath(token: token)).status.code == 421)
        }
    }

    @Test func signOutEndpointEndsSession() async throws {
        try await withServer { browser, service in
            let token = try await service.signInForDevelopment(user: "alice").webAuthToken
            let path = callerPath(token: token).replacing("users/caller", with: "users/signout")
            let out = try await browser.get(path, method: .post)
            #expect(out.status == .ok && out.text == "{}")
            if let name = HTTPField.Name("X-Apple-CloudKit-Web-Auth-Token") {
                #expect(out.headers[name] == nil)
            }
            #expect(try await browser.get(callerPath(token: token)).status.code == 421)
        }
    }

    // MARK: Origins

    @Test func apiTokenIsUsableFromAllowedOriginsOnly() async throws {
        try await withServer(isForDevelopment: false) { browser, service in
            let own = "https://app.example.org"
            let restricted = try await service.accounts.createAPIToken(
                for: Self.address, name: "web", allowedOrigins: [own])
            let open = try await service.accounts.createAPIToken(
                for: Self.address, name: "open")
            func ask(
                _ apiToken: String, _ origin: String?, _ method: HTTPRequest.Method = .get
            ) async throws -> (status: Int, origin: String?) {
                let path = callerPath(apiToken: apiToken)
                    .replacing("users/caller", with: "zones/list")
                let answer = try await browser.get(path, origin: origin, method: method)
                return (answer.status.code, answer.headers[.accessControlAllowOrigin])
            }
            #expect(try await ask(restricted, own) == (200, own))
            #expect(try await ask(restricted, nil) == (200, nil))
            #expect(try await ask(restricted, own, .options) == (204, own))
            for foreign in ["https://evil.example.org", "http://app.example.org", "null"] {
                #expect(try await ask(restricted, foreign) == (401, nil))
                #expect(try await ask(restricted, foreign, .options) == (204, nil))
                #expect(try await ask(open, foreign) == (200, foreign))
            }
            #expect(try await ask("unknown", own) == (401, own))
            let page = try await browser.get("/auth/sign-in?request=x", origin: own)
            #expect(page.headers[.accessControlAllowOrigin] == nil)
        }
    }
}

private func escaped(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
}

private func callerPath(apiToken: String = "development", token: String? = nil) -> String {
    "/database/1/iCloud.org.example.Trails/development/public/users/caller?ckAPIToken=\(apiToken)"
        + (token.map { "&ckWebAuthToken=\(escaped($0))" } ?? "")
}

extension TestResponse {
    var text: String { String(buffer: body) }

    /// A top-level string of a JSON body.
    func member(_ key: String) throws -> String? {
        let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        return object?[key] as? String
    }
}
