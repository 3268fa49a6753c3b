import AsyncHTTPClient
import Foundation
import NIOCore
import StratusRecords
import StratusService
import StratusStorage
import StratusTesting
import StratusWire
import TestServing
import Testing

@testable import StratusServer

/// Requests and answers in gzip.
@Suite struct ContentCodingTests {
    private static let path = "/database/1/iCloud.org.example.Trails/development/public/records/"

    /// A user and a server.
    private struct Session: Sendable {
        let service: CloudService
        let port: Int
        var token: String
        /// A client that does not inflate answers by itself.
        private static let client = HTTPClient(eventLoopGroupProvider: .singleton)

        func ask(
            _ path: String, _ body: [UInt8] = Array("{}".utf8), _ headers: [(String, String)] = []
        ) async throws -> (status: UInt, headers: [(String, String)], body: ByteBuffer) {
            var request = HTTPClientRequest(
                url: "http://127.0.0.1:\(port)\(path)?ckAPIToken=development&ckWebAuthToken="
                    + (token.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""))
            request.method = .POST
            for (name, value) in headers { request.headers.add(name: name, value: value) }
            request.body = .bytes(body)
            let answer = try await Self.client.execute(request, timeout: .seconds(20))
            return (
                answer.status.code, answer.headers.map { ($0, $1) },
                try await answer.body.collect(upTo: 20_000_000)
            )
        }
    }

    private func withSession(
        _ change: (inout Limits) -> Void = { _ in },
        _ body: @escaping @Sendable (Session) async throws -> Void
    ) async throws {
        let service = CloudService.forDevelopment(limits: .with(change), isThrottled: false)
        let token = try await service.signInForDevelopment(user: "alice").webAuthToken
        try await withServer(service) { port in
            try await body(Session(service: service, port: port, token: token))
        }
    }

    private static func save(_ count: Int, text: String = "quiet snow") -> [UInt8] {
        let operations = (0..<count).map { number in
            """
            {"operationType":"create","record":{"recordType":"Hut","recordName":"h\(number)",\
            "fields":{"name":{"value":"\(text) \(words(number))"}}}}
            """
        }
        return Array(#"{"operations":[\#(operations.joined(separator: ","))]}"#.utf8)
    }

    private static func words(_ number: Int) -> String {
        (0..<6).map { digits(number + $0 * 1_000) }.joined(separator: " ")
    }

    /// Digits that look random, so that they do not compress well.
    private static func digits(_ number: Int) -> String {
        String(UInt64(number + 1) &* 0x9e37_79b9_7f4a_7c15, radix: 16)
    }

    private static func gzip(_ bytes: [UInt8]) throws -> [UInt8] {
        Array(try #require(Gzip.compressed(ByteBuffer(bytes: bytes))).readableBytesView)
    }

    // MARK: Requests

    @Test(arguments: ["gzip", "x-gzip", "GZIP"])
    func gzippedRequestIsRead(_ name: String) async throws {
        try await withSession { session in
            let body = try Self.gzip(Self.save(100))
            let saved = try await session.ask(
                Self.path + "modify", body, [("Content-Encoding", name)])
            #expect(saved.status == 200)
            let text = String(buffer: saved.body)
            #expect(
                text.contains("quiet snow \(Self.digits(99))") && text.contains("recordChangeTag"))
        }
    }

    /// Expects that a body of spaces is refused, and that it is never inflated completely.
    private static func expectRefusal(
        ofSpaces count: Int, sentInBytes limit: Int, _ session: Session
    ) async throws {
        let body = try gzip(Array(repeating: UInt8(ascii: " "), count: count))
        #expect(body.count < limit)
        let answer = try await session.ask(path + "modify", body, [("Content-Encoding", "gzip")])
        #expect(answer.status == 413, "\(String(buffer: answer.body))")
        #expect(session.service.memory.peakBytes < 4_000_000)
    }

    /// 20 kB that inflate to 20 MB.
    @Test func decompressionBombIsRefused() async throws {
        try await withSession { session in
            try await Self.expectRefusal(ofSpaces: 20_000_000, sentInBytes: 100_000, session)
            // Its memory was released, and the next request is served.
            #expect(try await session.ask(Self.path + "modify", Self.save(1)).status == 200)
        }
    }

    /// A body whose inflated size is allowed, but is a thousand times what was sent.
    @Test func bodyWithTooHighCompressionRatioIsRefused() async throws {
        try await withSession { session in
            try await Self.expectRefusal(ofSpaces: 4_000_000, sentInBytes: 20_000, session)
        }
    }

    /// Inflated bytes count against the memory budget like sent ones.
    @Test func inflatedBytesAreHeldInTheBudget() async throws {
        try await withSession { session in
            let text = (0..<50_000).map(Self.digits).joined()
            let raw = Self.save(1, text: text)
            let body = try Self.gzip(raw)
            let answer = try await session.ask(
                Self.path + "modify", body, [("Content-Encoding", "gzip")])
            #expect(answer.status == 200, "\(String(buffer: answer.body).prefix(300))")
            #expect(session.service.memory.peakBytes > raw.count + body.count)
        }
        try await withSession({ $0.requestBodyBytes = 50_000 }) { session in
            let body = try Self.gzip(Self.save(700))
            #expect(body.count < 50_000)
            let answer = try await session.ask(
                Self.path + "modify", body, [("Content-Encoding", "gzip")])
            #expect(answer.status == 413)
        }
    }

    @Test func damagedAndUnknownCodingsAreRefused() async throws {
        try await withSession { session in
            let whole = try Self.gzip(Self.save(50))
            var flipped = whole
            flipped[whole.count / 2] ^= 0x10
            for body in [Array(whole.dropLast(9)), flipped, Array("{}".utf8), whole + [1, 2, 3]] {
                let answer = try await session.ask(
                    Self.path + "modify", body, [("Content-Encoding", "gzip")])
                #expect(answer.status == 400, "\(String(buffer: answer.body))")
            }
            let answer = try await session.ask(
                Self.path + "modify", whole, [("Content-Encoding", "br")])
            #expect(answer.status == 415)
            #expect(answer.headers.contains { $0.0 == "Accept-Encoding" && $0.1.contains("gzip") })
        }
    }

    /// An asset is stored inflated, not as it was sent.
    @Test func gzippedUploadIsKeptInflated() async throws {
        try await withSession { session in
            let asked = try await session.ask(
                "/database/1/iCloud.org.example.Trails/development/public/assets/upload",
                Array(#"{"tokens":[{"recordType":"Hut","fieldName":"photo"}]}"#.utf8))
            let object = try JSONSerialization.jsonObject(with: Data(asked.body.readableBytesView))
            let tokens = try #require((object as? [String: Any])?["tokens"] as? [[String: Any]])
            let text = try #require(tokens.first?["url"] as? String)
            let url = try #require(URL(string: text))
            let bytes = Array(repeating: [UInt8]("a photo of snow. ".utf8), count: 40_000)
                .flatMap { $0 }
            let answer = try await session.ask(
                url.path, try Self.gzip(bytes), [("Content-Encoding", "gzip")])
            #expect(answer.status == 200)
            #expect(String(buffer: answer.body).contains(#""size":\#(bytes.count)"#))
        }
    }

    // MARK: Answers

    @Test func largeAnswerIsCompressedOnRequest() async throws {
        try await withSession { session in
            #expect(try await session.ask(Self.path + "modify", Self.save(150)).status == 200)
            let names = (0..<150).map { #"{"recordName":"h\#($0)"}"# }.joined(separator: ",")
            let body = Array(#"{"records":[\#(names)]}"#.utf8)
            let plain = try await session.ask(Self.path + "lookup", body)
            #expect(!plain.headers.contains { $0.0.lowercased() == "content-encoding" })
            for refusal in ["gzip;q=0", "br, gzip; q=0.0", "identity"] {
                let answer = try await session.ask(
                    Self.path + "lookup", body, [("Accept-Encoding", refusal)])
                #expect(answer.body == plain.body)
            }
            var packed = try await session.ask(
                Self.path + "lookup", body, [("Accept-Encoding", "br;q=1.0, gzip;q=0.8, *;q=0.1")])
            #expect(packed.headers.contains { $0 == ("Content-Encoding", "gzip") })
            #expect(packed.headers.contains { $0 == ("Vary", "Accept-Encoding") })
            #expect(packed.body.readableBytes * 3 < plain.body.readableBytes)
            let inflated = try Inflater().inflate(&packed.body, atMost: 1_000_000)
            #expect(inflated == plain.body)
        }
    }

    /// AsyncHTTPClient's shared client refuses an answer that inflates to 25 times its size.
    @Test func answerWithTooHighCompressionRatioIsNotCompressed() async throws {
        try await withSession { session in
            let text = String(repeating: "snow ", count: 20_000)
            #expect(
                try await session.ask(Self.path + "modify", Self.save(2, text: text)).status == 200)
            let answer = try await session.ask(
                Self.path + "lookup", Array(#"{"records":[{"recordName":"h0"}]}"#.utf8),
                [("Accept-Encoding", "gzip")])
            #expect(!answer.headers.contains { $0.0.lowercased() == "content-encoding" })
            #expect(String(buffer: answer.body).contains(text))
        }
    }

    /// Small answers are not compressed, nor those with a secret that could be guessed from their length.
    @Test func smallAndSecretAnswersAreNotCompressed() async throws {
        try await withSession { session in
            let database = "/database/1/iCloud.org.example.Trails/development/private/"
            let tokens = (0..<20).map { _ in #"{"recordType":"Hut","fieldName":"photo"}"# }
            for (path, body) in [
                (database + "zones/list", "{}"),
                (
                    database + "assets/upload",
                    #"{"tokens":[\#(tokens.joined(separator: ","))]}"#
                ),
            ] {
                let answer = try await session.ask(
                    path, Array(body.utf8), [("Accept-Encoding", "gzip")])
                #expect(answer.status == 200)
                #expect(!answer.headers.contains { $0.0.lowercased() == "content-encoding" })
            }
        }
    }

    // MARK: Pieces

    @Test(arguments: [1, 2, 7, 100, 65_536])
    func inflatingInAnyPieceSizeGivesTheSameBytes(_ count: Int) throws {
        let text = Array(repeating: [UInt8]("to and fro ".utf8), count: 3_000).flatMap { $0 }
        // Two gzip members in a row are one text.
        let packed = try Self.gzip(text) + Self.gzip(text)
        let inflater = try Inflater()
        var found: [UInt8] = []
        for start in stride(from: 0, to: packed.count, by: count) {
            var input = ByteBuffer(bytes: packed[start..<min(start + count, packed.count)])
            while case let piece = try inflater.inflate(&input, atMost: 1_000),
                piece.readableBytes > 0
            {
                #expect(piece.readableBytes <= 1_000)
                found += Array(piece.readableBytesView)
            }
        }
        #expect(found == text + text)
        #expect(inflater.isComplete)
    }
}
