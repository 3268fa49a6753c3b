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

/// The page of a person's own account, as a browser sees it.
@Suite struct AccountPagesTests {
    private static let address = ContainerAddress(
        container: "iCloud.org.example.Trails", environment: .development)
    private static let ida = "ida@example.org"

    /// A browser with its cookie, and the page that it shows.
    private final class Browser {
        let client: any TestClientProtocol
        var cookie = ""
        var fields: [String: String] = [:]
        var text = ""
        var status = 0

        init(_ client: any TestClientProtocol) { self.client = client }

        func get(_ path: String) async throws {
            try show(
                await client.executeRequest(uri: path, method: .get, headers: [:], body: nil))
        }

        func post(
            _ path: String, _ more: [String: String], origin: String? = nil
        ) async throws {
            let fields = fields.merging(more) { $1 }
            let body = fields.map {
                "\($0)=\($1.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
            }.joined(separator: "&")
            var headers: HTTPFields = [.cookie: cookie]
            headers[.origin] = origin
            try show(
                await client.executeRequest(
                    uri: path, method: .post, headers: headers, body: ByteBuffer(string: body)))
        }

        private func show(_ page: TestResponse) throws {
            status = page.status.code
            text = page.text
            if let set = page.headers[.setCookie]?.split(separator: ";").first {
                cookie = String(set)
            }
            var found: [String: String] = [:]
            for match in text.matches(
                of: /<input type="hidden" name="(form|proof)" value="([^"]*)">/)
            {
                found[String(match.1)] = String(match.2)
            }
            if !found.isEmpty { fields = found }
        }

        func open(_ password: String) async throws {
            fields = [:]
            try await get("/auth/account")
            try await post(
                "/auth/account",
                ["action": "open", "email": AccountPagesTests.ida, "password": password])
        }

        func act(_ action: String, _ more: [String: String] = [:]) async throws {
            try await post("/auth/account", more.merging(["action": action]) { $1 })
        }
    }

    /// Ida has opened the page of her account.
    private func withOpenAccount(
        _ body: @escaping @Sendable (Browser, CloudService) async throws -> Void
    ) async throws {
        try await withServer { client, service in
            let browser = Browser(client)
            try await browser.open("correct horse")
            try await body(browser, service)
        }
    }

    private func withServer(
        _ body: @escaping @Sendable (any TestClientProtocol, CloudService) async throws -> Void
    ) async throws {
        let service = CloudService.withAccounts()
        for name in [Self.ida, "ole@example.org"] {
            _ = try await service.accounts.createUser(
                emailAddress: name, password: "correct horse", givenName: "", familyName: "",
                isEmailVerified: false)
        }
        _ = try await service.accounts.createAPIToken(for: Self.address, name: "app")
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0, logger: logger, onListening: { _ in })
        try await server.test(.router) { try await body($0, service) }
    }

    private func sessions(_ service: CloudService, _ name: String = ida) async throws -> Int {
        let user = try await service.accounts.user(name)
        return try await service.storage.directory.sessions(of: user.recordName).count
    }

    @Test func accountPageEndsOnlyOwnSessions() async throws {
        try await withServer { client, service in
            let browser = Browser(client)
            var ids: [String: String] = [:]
            for name in [Self.ida, "ole@example.org"] {
                let user = try await service.accounts.user(name)
                ids[name] = try await service.createSession(
                    for: user.recordName, staysSignedIn: true, at: Self.address
                ).session
            }
            try await browser.open("wrong horse")
            #expect(browser.status == 400 && browser.fields["proof"] == nil)
            try await browser.open("correct horse")
            #expect(browser.status == 200 && browser.text.contains("iCloud.org.example.Trails"))
            #expect(browser.text.contains(try #require(ids[Self.ida])))
            try await browser.act("end-session", ["session": ids["ole@example.org"] ?? ""])
            #expect(try await sessions(service, "ole@example.org") == 1)
            try await browser.act("end-session", ["session": ids[Self.ida] ?? ""])
            #expect(browser.text.contains("The session is over; that device has to sign in again."))
            #expect(try await sessions(service) == 0)
        }
    }

    @Test func passwordChangeEndsSessionsAndInvalidatesOpenPages() async throws {
        try await withServer { client, service in
            let user = try await service.accounts.user(Self.ida)
            _ = try await service.createSession(
                for: user.recordName, staysSignedIn: true, at: Self.address)
            let browser = Browser(client)
            try await browser.open("correct horse")
            let former = browser.fields
            try await browser.act(
                "change-password", ["password": "wrong horse", "new": "battery staple"])
            #expect(browser.status == 400 && browser.text.contains("is not right"))
            try await browser.act("change-password", ["password": "correct horse", "new": "short"])
            #expect(browser.status == 400)
            #expect(try await sessions(service) == 1)
            try await browser.act(
                "change-password", ["password": "correct horse", "new": "battery staple"])
            #expect(browser.text.contains("Your password is changed."))
            #expect(try await sessions(service) == 0)
            browser.fields = former
            try await browser.act("recovery-code")
            #expect(browser.status == 400)
            try await browser.open("correct horse")
            #expect(browser.status == 400)
            try await browser.open("battery staple")
            #expect(browser.status == 200)
        }
    }

    @Test func recoveryCodeSetsPasswordOnce() async throws {
        try await withOpenAccount { browser, service in
            try await browser.act("recovery-code")
            let match = try #require(
                browser.text.firstMatch(of: /<strong>((?:[0-9A-Z]{5}-){5}[0-9A-Z])<\/strong>/))
            let code = String(match.1)
            let user = try await service.accounts.user(Self.ida)
            _ = try await service.createSession(
                for: user.recordName, staysSignedIn: true, at: Self.address)
            func recover(_ name: String, _ code: String) async throws -> Int {
                browser.fields = [:]
                try await browser.get("/auth/recover")
                try await browser.post(
                    "/auth/recover", ["email": name, "code": code, "password": "battery staple"])
                return browser.status
            }
            let wrong = code.replacing("-", with: "").reversed()
            #expect(try await recover(Self.ida, String(wrong)) == 400)
            let refusal = browser.text.contains("The e-mail address or the recovery code")
            #expect(try await recover("ole@example.org", code) == 400)
            #expect(try await recover("nobody@example.org", code) == 400)
            #expect(browser.text.contains("The e-mail address or the recovery code") && refusal)
            #expect(try await sessions(service) == 1)
            #expect(try await recover(Self.ida, code.lowercased()) == 200)
            #expect(try await sessions(service) == 0)
            #expect(!browser.text.contains(code))
            #expect(try await recover(Self.ida, code) == 400)
            try await browser.open("battery staple")
            #expect(browser.status == 200)
        }
    }

    @Test func accountDeletionNeedsPasswordAndConfirmation() async throws {
        try await withOpenAccount { browser, service in
            try await browser.act("export")
            #expect(browser.status == 200 && browser.text.hasPrefix("account.json"))
            #expect(browser.text.contains(Self.ida))
            try await browser.act("delete")
            #expect(browser.text.contains("cannot be brought back"))
            try await browser.act("delete-now", ["password": "wrong horse", "sure": "1"])
            #expect(browser.status == 400)
            try await browser.act("delete-now", ["password": "correct horse"])
            _ = try await service.accounts.user(Self.ida)
            try await browser.act("delete-now", ["password": "correct horse", "sure": "1"])
            #expect(browser.text.contains("Your account is deleted"))
            await #expect(throws: ServiceError.self) { try await service.accounts.user(Self.ida) }
            _ = try await service.accounts.user("ole@example.org")
        }
    }

    /// Each archive reads all of the account's data and searches the public databases, so one is made at a time.
    @Test func onlyOneArchiveIsMadeAtATime() async throws {
        try await withOpenAccount { browser, service in
            let form = SignInForm(
                emailAddress: Self.ida, password: "correct horse", networkAddress: "10.0.0.9")
            let account = try await service.openAccount(form, secret: "of another browser")
            do {
                let turn = try service.beginArchive(of: account)
                try await browser.act("export")
                #expect(browser.status == 429)
                #expect(browser.text.contains("is being downloaded already"))
                withExtendedLifetime(turn) {}
            }
            try await browser.act("export")
            #expect(browser.status == 200 && browser.text.hasPrefix("account.json"))
            // The answer was sent completely, so the next archive may begin.
            try await browser.act("export")
            #expect(browser.status == 200)
        }
    }

    /// A form from another site or another browser, or with a stolen proof, does nothing.
    @Test func forgedFormsAreRefused() async throws {
        try await withServer { client, service in
            let (browser, thief) = (Browser(client), Browser(client))
            try await browser.open("correct horse")
            let own = browser.fields
            try await thief.get("/auth/account")
            let deletion = ["action": "delete-now", "password": "correct horse", "sure": "1"]
            // With the victim's proof, and the attacker's own forms and cookies.
            thief.fields["proof"] = own["proof"]
            try await thief.post("/auth/account", deletion)
            #expect(thief.status == 400)
            let cookie = browser.cookie
            browser.cookie = ""
            try await browser.post("/auth/account", deletion)
            #expect(browser.status == 400)
            browser.cookie = cookie
            browser.fields = own
            try await browser.post(
                "/auth/account", deletion, origin: "https://evil.example.org")
            #expect(browser.status == 400)
            browser.fields = own.merging(["proof": "x"]) { $1 }
            try await browser.post("/auth/account", deletion)
            #expect(browser.status == 400)
            browser.fields = own.merging(["form": "x"]) { $1 }
            try await browser.post("/auth/account", deletion)
            #expect(browser.status == 400)
            _ = try await service.accounts.user(Self.ida)
            browser.fields = own
            try await browser.act("delete")
            #expect(browser.status == 200)
        }
    }
}
