import AsyncHTTPClient
import Foundation
import Logging
import NIOCore
import NIOSSL
import StratusRecords
import StratusServer
import StratusService
import StratusStorage
import StratusTesting
import TestProcesses
import TestServing
import Testing

/// HTTP/2 within TLS.
@Suite struct HTTP2Tests {
    private static let path = "/database/1/iCloud.org.example.Trails/development/public/"

    /// A server with a certificate, and a client that trusts it.
    private struct Session: Sendable {
        let service: CloudService
        let client: HTTPClient
        let origin: String
        let token: String

        func ask(
            _ path: String, _ body: HTTPClientRequest.Body? = .bytes(ByteBuffer(string: "{}")),
            device: String = "phone"
        ) async throws -> (version: String, status: UInt, text: String) {
            let token = token.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            var request = HTTPClientRequest(
                url: path.hasPrefix("https")
                    ? path
                    : origin + path + "?ckAPIToken=development&clientId=\(device)&ckWebAuthToken="
                        + token)
            request.method = body == nil ? .GET : .POST
            request.body = body
            let answer = try await client.execute(request, timeout: .seconds(20))
            return (
                answer.version.description, answer.status.code,
                String(buffer: try await answer.body.collect(upTo: 20_000_000))
            )
        }
    }

    private func withSession(
        version: HTTPClient.Configuration.HTTPVersion = .automatic,
        _ change: (inout Limits) -> Void = { _ in },
        _ body: @escaping @Sendable (Session) async throws -> Void
    ) async throws {
        let service = CloudService.forDevelopment(limits: .with(change), isThrottled: false)
        let token = try await service.signInForDevelopment(user: "alice").webAuthToken
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(
            try NIOSSLCertificate.fromPEMBytes(Array(APNsStandIn.certificatePEM.utf8)))
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        configuration.httpVersion = version
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: configuration)
        let files = try CertificateFiles()
        defer { files.remove() }
        let outcome: Result<Void, any Error>
        do {
            try await withServer(service, tls: try files.read()) { port in
                try await body(
                    Session(
                        service: service, client: client, origin: "https://localhost:\(port)",
                        token: token))
            }
            outcome = .success(())
        } catch {
            outcome = .failure(error)
        }
        try await client.shutdown()
        try outcome.get()
    }

    private static func save(_ number: Int, text: String = "snow") -> HTTPClientRequest.Body {
        .bytes(
            ByteBuffer(
                string: """
                    {"operations":[{"operationType":"create","record":{"recordType":"Hut",\
                    "recordName":"h\(number)","fields":{"name":{"value":"\(text)"}}}}]}
                    """))
    }

    @Test func clientThatOffersItIsServedByHTTP2() async throws {
        try await withSession { session in
            let answer = try await session.ask(Self.path + "records/modify", Self.save(1))
            #expect(answer.version == "HTTP/2.0")
            #expect(answer.status == 200)
            #expect(answer.text.contains("recordChangeTag"))
        }
        try await withSession(version: .http1Only) { session in
            let answer = try await session.ask(Self.path + "records/modify", Self.save(1))
            #expect(answer.version == "HTTP/1.1")
            #expect(answer.status == 200)
        }
    }

    /// The memory held for a connection's streams is released with each of them.
    @Test func requestsOfOneConnectionAreServedTogether() async throws {
        try await withSession { session in
            try await withThrowingTaskGroup(of: UInt.self) { group in
                for number in 0..<80 {
                    group.addTask {
                        try await session.ask(
                            Self.path + "records/modify",
                            Self.save(number, text: String(repeating: "x", count: 100_000))
                        ).status
                    }
                }
                for try await status in group { #expect(status == 200) }
            }
            let found = try await session.ask(
                Self.path + "records/query",
                .bytes(ByteBuffer(string: #"{"query":{"recordType":"Hut"}}"#)))
            #expect(found.status == 200 && found.text.utf8.count > 1_000_000)
            #expect(session.service.memory.peakBytes > 100_000)
        }
    }

    @Test func longPollReturnsItsNotification() async throws {
        try await withSession { session in
            let container = "/database/1/iCloud.org.example.Trails/development/"
            let made = try await session.ask(
                container + "private/subscriptions/modify",
                .bytes(
                    ByteBuffer(
                        string: """
                            {"operations":[{"operationType":"create","subscription":{\
                            "subscriptionID":"all","subscriptionType":"database",\
                            "notificationInfo":{"shouldSendContentAvailable":true}}}]}
                            """)))
            #expect(made.status == 200, "\(made.text)")
            let answer = try await session.ask(
                container + "tokens/create",
                .bytes(ByteBuffer(string: #"{"apnsEnvironment":"development"}"#)))
            let object = try JSONSerialization.jsonObject(with: Data(answer.text.utf8))
            let url = try #require((object as? [String: Any])?["webcourierURL"] as? String)
            let token = try #require((object as? [String: Any])?["apnsToken"] as? String)
            let registration = #"{"apnsEnvironment":"development","apnsToken":"\#(token)"}"#
            let registered = try await session.ask(
                container + "tokens/register", .bytes(ByteBuffer(string: registration)))
            #expect(registered.status == 200, "\(registered.text)")
            async let poll = session.ask(url, nil)
            let zone = #"{"operationType":"create","zone":{"zoneID":{"zoneName":"T"}}}"#
            let zones = try await session.ask(
                container + "private/zones/modify",
                .bytes(ByteBuffer(string: #"{"operations":[\#(zone)]}"#)), device: "tablet")
            #expect(zones.status == 200)
            let polled = try await poll
            #expect(polled.version == "HTTP/2.0" && polled.status == 200, "\(polled.text)")
        }
    }

    /// An asset larger than a flow-control window, uploaded as a form in pieces.
    @Test func assetBeyondTheFlowControlWindowIsUploaded() async throws {
        try await withSession { session in
            let asked = try await session.ask(
                Self.path + "assets/upload",
                .bytes(
                    ByteBuffer(string: #"{"tokens":[{"recordType":"Hut","fieldName":"photo"}]}"#)))
            let object = try JSONSerialization.jsonObject(with: Data(asked.text.utf8))
            let tokens = try #require((object as? [String: Any])?["tokens"] as? [[String: Any]])
            let url = try #require(tokens.first?["url"] as? String)
            let bytes = [UInt8](repeating: 7, count: 5_000_000)
            let put = try await session.ask(url, .bytes(bytes))
            #expect(put.version == "HTTP/2.0" && put.status == 200, "\(put.text)")
            #expect(put.text.contains(#""size":5000000"#))
        }
    }

    /// A refusal ends its own stream, with the same answer as over HTTP/1.1.
    @Test func refusalEndsOnlyItsStream() async throws {
        try await withSession({ $0.requestBodyBytes = 10_000 }) { session in
            for _ in 0..<3 {
                let large = try await session.ask(
                    Self.path + "records/modify",
                    Self.save(1, text: String(repeating: "x", count: 300_000)))
                #expect(large.status == 413, "\(large.text)")
                let small = try await session.ask(
                    Self.path + "records/lookup", .bytes(ByteBuffer(string: #"{"records":[]}"#)))
                #expect(small.status == 200 && small.version == "HTTP/2.0", "\(small)")
            }
        }
    }

    /// `curl` is an independent implementation of HTTP/2.
    @Test func curlSpeaksHTTP2() async throws {
        try await withSession { session in
            let certificate = FileManager.default.temporaryDirectory
                .appendingPathComponent("stratus-curl-\(UUID().uuidString).pem")
            try Data(APNsStandIn.certificatePEM.utf8).write(to: certificate)
            // Failing to remove a temporary folder must not fail the test.
            defer { try? FileManager.default.removeItem(at: certificate) }
            let output = try await Self.run([
                "curl", "--http2", "--silent", "--show-error", "--compressed", "--max-time", "120",
                "--cacert", certificate.path, "--write-out", "|%{http_version} %{http_code}",
                session.origin + "/health",
            ])
            #expect(output.hasSuffix("|2 200"), "\(output)")
        }
    }

    private static func run(_ arguments: [String]) async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        let output = Pipe()
                        let end = output.fileHandleForWriting
                        let process = try ChildProcess(arguments, output: end, error: end)
                        try end.close()
                        let data = try output.fileHandleForReading.readToEnd() ?? Data()
                        process.end()
                        return String(decoding: data, as: UTF8.self)
                    })
            }
        }
    }
}
