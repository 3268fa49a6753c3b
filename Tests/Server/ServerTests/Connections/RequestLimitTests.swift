import Foundation
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import TestServing
import Testing

/// Requests that are refused before their body is read, over real connections.
@Suite struct RequestLimitTests {
    private static let list = "/database/1/c/development/private/zones/list?ckAPIToken="

    private func service(
        isThrottled: Bool? = nil, _ change: (inout Limits) -> Void = { _ in }
    ) -> CloudService {
        var limits = Limits()
        // A test that waits for a body would take this long.
        limits.requestReadSeconds = 20
        change(&limits)
        return CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(
                isForDevelopment: true, limits: limits, isThrottled: isThrottled,
                // The clock stands still, so that no rate recovers during a slow test.
                world: .init(
                    nowMilliseconds: { 1_800_000_000_000 }, uptimeSeconds: { 1_000 })))
    }

    /// The body is announced and never sent: the answer cannot have waited for it.
    @Test func credentialsAreCheckedBeforeBodyIsRead() async throws {
        try await withServer(service()) { port in
            let wrong = try await BareConnection(port).ask(
                post(Self.list + "wrong", "", announcing: 7_000_000))
            #expect(wrong.hasPrefix("HTTP/1.1 401"), "\(wrong)")
            #expect(wrong.lowercased().contains("connection: close"))
            let nobody = try await BareConnection(port).ask(
                post(Self.list + "development", "", announcing: 7_000_000))
            #expect(nobody.hasPrefix("HTTP/1.1 421"), "\(nobody)")
        }
    }

    /// The time is measured from each request's arrival.
    @Test(arguments: [true, false])
    func serverTimingHeaderIsSentOnlyIfEnabled(_ tellsTime: Bool) async throws {
        try await withServer(service(), tellsTime: tellsTime) { port in
            let connection = try BareConnection(port)
            for _ in 0..<2 {
                let answer = try await connection.ask(
                    "GET /health HTTP/1.1\r\nHost: a\r\n\r\n")
                #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
                let header = answer.split(whereSeparator: \.isNewline)
                    .first { $0.lowercased().hasPrefix("server-timing: total;dur=") }
                #expect((header != nil) == tellsTime, "\(answer)")
                if let header, let text = header.split(separator: "=").last {
                    let milliseconds = try #require(Double(text))
                    #expect((0..<60_000).contains(milliseconds))
                }
            }
        }
    }

    // MARK: Addresses outside the protocol

    private static let exchange = "/auth/oidc?ckAPIToken="

    private func exchangingService(_ change: (inout Limits) -> Void = { _ in }) -> CloudService {
        var settings = service(isThrottled: true, change).settings
        settings.accounts.identityProviders = [
            IdentityProvider(
                issuer: "https://id.example.org", audiences: ["org.example.Trails"],
                fetchKeys: { "" })
        ]
        return CloudService(storage: SQLiteStorageEngine.inMemory(), settings: settings)
    }

    /// The bodies are announced and never sent, as above.
    @Test func tokenExchangeIsCheckedBeforeBodyIsRead() async throws {
        try await withServer(exchangingService()) { port in
            for token in ["wrong", ""] {
                let wrong = try await BareConnection(port).ask(
                    post(Self.exchange + token, "", announcing: 60_000))
                #expect(wrong.hasPrefix("HTTP/1.1 401"), "\(wrong)")
            }
            let long = try await BareConnection(port).ask(
                post(Self.exchange + "development", "", announcing: 70_000))
            #expect(long.hasPrefix("HTTP/1.1 413"), "\(long)")
        }
    }

    /// Both are throttled like other requests, since each reads the directory.
    @Test func exchangesAndPollsAreThrottledPerAddress() async throws {
        let poll = "GET /courier/aps?tok=guess HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for (request, status) in [
            (poll, "404"), (post(Self.exchange + "development", "{}"), "400"),
        ] {
            let service = exchangingService {
                $0.requestsPerSecondPerAddress = 1
                $0.requestsInBurstPerAddress = 3
            }
            try await withServer(service) { port in
                for expected in [status, status, status, "429"] {
                    let answer = try await BareConnection(port).ask(request)
                    #expect(answer.hasPrefix("HTTP/1.1 \(expected)"), "\(answer)")
                }
            }
        }
    }

    @Test func throttledAnswerHasRetryAfterInBodyAndHeader() async throws {
        let service = service(isThrottled: true) {
            $0.requestsPerSecondPerAddress = 1
            $0.requestsInBurstPerAddress = 20
        }
        try await withServer(service) { port in
            let connection = try BareConnection(port)
            var answer = ""
            for number in 0..<5 {
                answer = try await connection.ask(post(Self.list + "wrong\(number)", "{}"))
                if answer.hasPrefix("HTTP/1.1 429") { break }
                #expect(answer.hasPrefix("HTTP/1.1 401"), "\(answer)")
            }
            #expect(answer.hasPrefix("HTTP/1.1 429"), "\(answer)")
            #expect(answer.contains(#""serverErrorCode":"THROTTLED""#))
            #expect(answer.contains(#""retryAfter":"#))
            #expect(answer.lowercased().contains("retry-after: "))
        }
    }

    /// Behind a proxy the rate is the client's, not the proxy's, and only the last hop's address is trusted.
    @Test func rateLimitBehindProxyAppliesPerClient() async throws {
        let service = service(isThrottled: true) {
            $0.requestsPerSecondPerAddress = 1
            $0.requestsInBurstPerAddress = 10
        }
        let proxies = try #require(TrustedProxies("127.0.0.0/8, 10.9.0.0/16"))
        try await withServer(
            service, publicOrigin: "https://cloud.example.org", trustedProxies: proxies
        ) { port in
            let connection = try BareConnection(port)
            func status(_ forwarded: String) async throws -> String {
                let answer = try await connection.ask(
                    post(
                        Self.list + "wrong", "{}",
                        headers: "X-Forwarded-For: \(forwarded)\r\n"))
                return String(answer.dropFirst("HTTP/1.1 ".count).prefix(3))
            }
            #expect(try await status("10.0.0.1") == "401")
            #expect(try await status("10.0.0.1") == "429")
            #expect(try await status("1.2.3.4, 10.0.0.1") == "429")
            // Trusted proxies on the way are skipped.
            #expect(try await status("1.2.3.4, 10.0.0.1, 10.9.1.2") == "429")
            #expect(try await status("10.0.0.1, 10.0.0.2") == "401")
            #expect(try await status("2001:db8::1") == "401")
            #expect(try await status("2001:db8::2") == "429")
            #expect(try await status("2001:db8:1::2") == "401")
        }
    }

    @Test func connectionsPerAddressAreLimited() async throws {
        let service = service { $0.connectionsPerAddress = 3 }
        try await withServer(service) { port in
            let request = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
            var open: [BareConnection] = []
            for _ in 0..<3 {
                let connection = try BareConnection(port)
                #expect(try await connection.ask(request).hasPrefix("HTTP/1.1 200"))
                open.append(connection)
            }
            #expect(try await BareConnection(port).isClosed())
            // One connection ends, and another is accepted as soon as the server has noticed.
            open.removeFirst()
            var answer = ""
            for _ in 0..<1_000 where answer.isEmpty {
                // A refused connection may be closed before the request is sent.
                answer = (try? await BareConnection(port).ask(request)) ?? ""
            }
            #expect(answer.hasPrefix("HTTP/1.1 200"))
            for connection in open {
                #expect(try await connection.ask(request).hasPrefix("HTTP/1.1 200"))
            }
        }
    }

    @Test func requestHeadIsLimited() async throws {
        let service = service {
            $0.requestHeadBytes = 4_000
            $0.headersPerRequest = 20
            $0.parametersPerRequest = 10
        }
        try await withServer(service) { port in
            let many = (0..<30).map { "X-\($0): 1\r\n" }.joined()
            let long = "X-Long: " + String(repeating: "x", count: 8_000) + "\r\n"
            for headers in [many, long] {
                let answer = try await BareConnection(port).ask(
                    post(Self.list + "development", "{}", headers: headers))
                #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"), "\(answer)")
            }
            let parameters = (0..<20).map { "&p\($0)=1" }.joined()
            let answer = try await BareConnection(port).ask(
                post(Self.list + "development" + parameters, "{}"))
            #expect(answer.hasPrefix("HTTP/1.1 400") && answer.contains("parameters"), "\(answer)")
            let good = try await BareConnection(port).ask(post(Self.list + "development", "{}"))
            #expect(good.hasPrefix("HTTP/1.1 421"), "\(good)")
        }
    }

    // MARK: The admin call of the fault script

    @Test func faultScriptIsWrittenReadAndClearedOverHTTP() async throws {
        try await withServer(service()) { port in
            let connection = try BareConnection(port)
            let fault = #"{"effect":"dropAfterCommit","times":2,"operation":"records/modify"}"#
            let added = try await connection.ask(post("/dev/faults", #"{"faults":[\#(fault)]}"#))
            #expect(added.hasPrefix("HTTP/1.1 200") && added.contains(fault), "\(added)")
            let get = "GET /dev/faults HTTP/1.1\r\nHost: localhost\r\n\r\n"
            #expect(try await connection.ask(get).contains(fault))
            let bad = try await connection.ask(post("/dev/faults", #"{"faults":[{"effect":"x"}]}"#))
            #expect(bad.hasPrefix("HTTP/1.1 400"), "\(bad)")
            let cleared = try await connection.ask(
                "DELETE /dev/faults HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(cleared.contains(#"{"faults":[]}"#))
            #expect(try await connection.ask(get).contains(#"{"faults":[]}"#))
        }
    }

    @Test func faultScriptIsNotFoundOutsideDevelopment() async throws {
        let service = CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: false))
        try await withServer(service) { port in
            let answer = try await BareConnection(port).ask(
                post("/dev/faults", #"{"faults":[]}"#))
            #expect(answer.hasPrefix("HTTP/1.1 404"), "\(answer)")
        }
    }
}
