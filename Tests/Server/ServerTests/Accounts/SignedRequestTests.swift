import Crypto
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import StratusRecords
import StratusStorage
import Testing

@testable import StratusServer
@testable import StratusService

/// Signed requests over the wire: the target and the body are checked exactly as they were sent.
@Suite struct SignedRequestTests {
    private static let address = ContainerAddress(
        container: "iCloud.org.example.Trails", environment: .development)

    private struct Server: Sendable {
        let client: any TestClientProtocol
        let key: P256.Signing.PrivateKey
        let keyID: String
        let service: CloudService

        /// - Parameter sent: The bytes to send, if they are not the signed body.
        func ask(
            _ target: String, _ body: String, method: HTTPRequest.Method = .post,
            hash: String? = nil, more: [String: String] = [:], sent: ByteBuffer? = nil
        ) async throws -> TestResponse {
            let date = Date().formatted(.iso8601)
            let hash = hash ?? Data(SHA256.hash(data: Data(body.utf8))).base64EncodedString()
            let signature = try key.signature(for: Data("\(date):\(hash):\(target)".utf8))
            var headers = HTTPFields()
            var values = [
                "x-apple-cloudkit-request-keyid": keyID,
                "X-Apple-CloudKit-Request-ISO8601Date": date,
                "X-Apple-CloudKit-Request-SignatureV1":
                    signature.derRepresentation.base64EncodedString(),
            ]
            values.merge(more) { $1 }
            for (name, value) in values {
                if let name = HTTPField.Name(name) { headers[name] = value }
            }
            return try await client.executeRequest(
                uri: target, method: method, headers: headers,
                body: sent ?? (body.isEmpty ? nil : ByteBuffer(string: body)))
        }
    }

    private func withServer(
        heavyThreads: Int = 0, _ body: @escaping @Sendable (Server) async throws -> Void
    ) async throws {
        var settings = ServiceSettings(
            isForDevelopment: false,
            world: .init(randomBytes: { Array(repeating: 0, count: $0) }))
        settings.heavyThreads = heavyThreads
        let service = CloudService(storage: SQLiteStorageEngine.inMemory(), settings: settings)
        let key = P256.Signing.PrivateKey()
        let row = try await service.accounts.addServerKey(
            key.publicKey.pemRepresentation, name: "test", for: Self.address)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0, logger: logger,
            onListening: { _ in })
        try await server.test(.router) { client in
            try await body(
                Server(client: client, key: key, keyID: row.identifier, service: service))
        }
    }

    private static let base = "/database/1/iCloud.org.example.Trails/development/public"

    @Test func signedRequestSavesAndReadsRecords() async throws {
        try await withServer { server in
            let saved = try await server.ask(
                Self.base + "/records/modify?ckjsVersion=2.6.4&x=%2B%20",
                #"{"operations":[{"operationType":"create","record":{"recordName":"hut-1","#
                    + #""recordType":"Hut","fields":{"name":{"value":"Hütte ∞"}}}}]}"#)
            #expect(saved.status == .ok, "\(saved.text)")
            #expect(saved.text.contains("Hütte ∞"))
            let read = try await server.ask(
                Self.base + "/records/lookup", #"{ "records" : [{"recordName":"hut-1"}] }"#)
            #expect(read.text.contains("Hütte ∞"))
            // Without a body, hashed in both ways.
            for hash in [nil, ""] {
                let list = try await server.ask(
                    Self.base + "/zones/list", "", method: .get, hash: hash)
                #expect(list.status == .ok, "\(list.text)")
            }
        }
    }

    /// The signature covers the body before it is compressed, since a client's HTTP library or a proxy may compress
    /// it later. A signature over the compressed body is refused.
    @Test func signatureIsOverTheBodyWithoutItsCoding() async throws {
        try await withServer { server in
            let body =
                #"{"operations":[{"operationType":"create","record":{"recordName":"hut-1","#
                + #""recordType":"Hut","fields":{"name":{"value":"Hütte ∞"}}}}]}"#
            let packed = try #require(Gzip.compressed(ByteBuffer(string: body)))
            let target = Self.base + "/records/modify"
            let coding = ["Content-Encoding": "gzip"]
            let travelled = Data(SHA256.hash(data: Data(packed.readableBytesView)))
            let refused = try await server.ask(
                target, body, hash: travelled.base64EncodedString(), more: coding, sent: packed)
            #expect(refused.status.code == 401, "\(refused.text)")
            let saved = try await server.ask(target, body, more: coding, sent: packed)
            #expect(saved.status == .ok, "\(saved.text)")
            #expect(saved.text.contains("Hütte ∞") && saved.text.contains("recordChangeTag"))
        }
    }

    @Test func mismatchedSignaturesReturnTheSameError() async throws {
        try await withServer { server in
            let target = Self.base + "/zones/list"
            var answers: [TestResponse] = []
            for more in [
                ["X-Apple-CloudKit-Request-SignatureV1": "AAAA"],
                ["x-apple-cloudkit-request-keyid": String(repeating: "a", count: 64)],
                ["X-Apple-CloudKit-Request-ISO8601Date": "2020-01-01T00:00:00Z"],
                ["X-Apple-CloudKit-Request-ISO8601Date": ""],
            ] {
                answers.append(try await server.ask(target, "{}", more: more))
            }
            answers.append(try await server.ask(target, "{}", hash: "AAAA"))
            answers.append(try await server.ask(target + "?ckAPIToken=x", "{}"))
            answers.append(try await server.ask(target + "?ckWebAuthToken=x", "{}"))
            for answer in answers {
                #expect(answer.status.code == 401)
                #expect(
                    answer.text
                        == #"{"uuid":"00000000-0000-4000-8000-000000000000","serverErrorCode":"AUTHENTICATION_FAILED","#
                        + #""reason":"Authentication failed"}"#)
            }
            let others = try await server.ask(
                target.replacing("/public/", with: "/private/"), "{}")
            #expect(others.status.code == 403)
        }
    }

    /// The hash of a large body is computed on the threads for heavy requests, and counts against the rate even if
    /// the signature is wrong.
    @Test func largeSignedBodyIsHashedOnHeavyThreadsAndThrottled() async throws {
        try await withServer(heavyThreads: 1) { server in
            let threads = try #require(server.service.pipeline.heavy?.threads)
            let target = Self.base + "/records/modify"
            _ = try await server.ask(target, "{}", hash: "AAAA")
            #expect(threads.stepsRun == 0)
            let body = String(
                repeating: " ", count: server.service.settings.limits.lightRequestBytes)
            var refusals: [Int] = []
            for _ in 0..<400 where refusals.last != 429 {
                refusals.append(
                    try await server.ask(target, body + "{}", hash: "AAAA").status.code)
            }
            #expect(threads.stepsRun >= refusals.count(where: { $0 == 401 }))
            #expect(refusals.first == 401)
        }
    }
}
