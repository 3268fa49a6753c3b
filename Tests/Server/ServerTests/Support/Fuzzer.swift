import AsyncHTTPClient
import Foundation
import Hummingbird
import HummingbirdTesting
import StratusService
import Testing

/// Sends one mutated request after the other.
struct Fuzzer: Sendable {
    /// Each user's secret, which only that user may read.
    static let secrets = ["alice": "ALICES-SECRET-51f0", "bob": "BOBS-SECRET-9c2e"]
    static let container = "iCloud.org.example.Fuzz"

    struct Person: Sendable {
        var name: String
        var recordName: String
        var query: String
    }

    private let client: any TestClientProtocol
    private let people: [Person]
    private let bodies: [(action: String, body: FuzzBody)]
    private let words: [String]
    private var chance: FuzzChance
    private(set) var requests = 0
    private(set) var accepted = 0
    /// Requests without an answer.
    private(set) var dropped = 0

    init(client: any TestClientProtocol, service: CloudService, seed: UInt64) async throws {
        self.client = client
        chance = FuzzChance(seed: seed)
        var people: [Person] = []
        for name in ["alice", "bob", "carol"] {
            let signIn = try await service.signInForDevelopment(user: name + "@example.org")
            let token = signIn.webAuthToken
                .addingPercentEncoding(withAllowedCharacters: .alphanumerics)
            people.append(
                Person(
                    name: name, recordName: signIn.userRecordName,
                    query: "?ckAPIToken=development&ckWebAuthToken=\(token ?? "")"))
        }
        people.append(
            Person(name: "nobody", recordName: "_nobody", query: "?ckAPIToken=development"))
        people.append(Person(name: "stranger", recordName: "_stranger", query: "?ckAPIToken=wrong"))
        self.people = people
        bodies = try FuzzCorpus.examples.map { ($0.action, try FuzzBody($0.body)) }
        words = FuzzBody.words(of: bodies.map(\.body))
        try await prepare()
    }

    static func run(
        client: any TestClientProtocol, service: CloudService, seed: UInt64, seconds: Double
    ) async throws -> Fuzzer {
        var fuzzer = try await Fuzzer(client: client, service: service, seed: seed)
        let end = ContinuousClock.now + .seconds(seconds)
        while ContinuousClock.now < end {
            guard try await fuzzer.step() else { break }
        }
        return fuzzer
    }

    /// Creates zones, a record tree to share, and each user's secret.
    private func prepare() async throws {
        for person in people.prefix(3) {
            let zones =
                #"{"operations":["#
                + ["Trips", "Secret"].map {
                    #"{"operationType":"create","zone":{"zoneID":{"zoneName":"\#($0)"}}}"#
                }.joined(separator: ",") + "]}"
            try await send("private/zones/modify", zones, as: person)
            try await send(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Trips"},"operations":[{"operationType":"create","record":"#
                    + #"{"recordType":"Trail","recordName":"root","fields":{"name":{"value":"r"}}}}]}"#,
                as: person)
            guard let secret = Self.secrets[person.name] else { continue }
            try await send(
                "private/records/modify",
                #"{"zoneID":{"zoneName":"Secret"},"operations":[{"operationType":"create","record":"#
                    + #"{"recordType":"Hut","recordName":"secret-1","fields":{"name":{"value":"\#(secret)"}}}}]}"#,
                as: person)
        }
    }

    /// - Returns: false if a violation was found, which was recorded.
    mutating func step() async throws -> Bool {
        let example = bodies[chance.below(bodies.count)]
        var body = example.body
        for _ in 0..<chance.below(5) { body = body.mutated(&chance, words: words) }
        var text = body.json
        let person = people[chance.below(people.count)]
        let owner = chance.happens(oneIn: 3) ? people[chance.below(people.count)] : person
        text = text.replacing("OWNER", with: owner.recordName)
        var bytes = Array(text.utf8)
        if chance.happens(oneIn: 8), !bytes.isEmpty {
            for _ in 0...chance.below(4) {
                bytes[chance.below(bytes.count)] = UInt8(truncatingIfNeeded: chance.next())
            }
            if chance.happens(oneIn: 3) { bytes.removeLast(chance.below(bytes.count)) }
        }
        let scope = chance.one(of: ["public/", "private/", "private/", "shared/"])
        let isToken = example.action.hasPrefix("tokens/")
        let path = (isToken ? "" : scope) + example.action
        let answer: TestResponse
        do {
            answer = try await send(path, bytes, as: person)
        } catch let error as HTTPClientError where error == .remoteConnectionClosed {
            // A refused request with a long body ends its connection, perhaps before its client has read
            // the answer. The next request shows whether the service is running.
            dropped += 1
            return true
        }
        if answer.status == .ok { accepted += 1 }
        return check(answer, path, bytes, person)
    }

    private func check(
        _ answer: TestResponse, _ path: String, _ bytes: [UInt8], _ person: Person
    ) -> Bool {
        let sent = String(decoding: bytes, as: UTF8.self)
        let text = String(buffer: answer.body)
        if answer.status.code >= 500, answer.status != .serviceUnavailable {
            Issue.record("\(answer.status) for \(person.name) at \(path): \(sent)\n\(text)")
            return false
        }
        if text.contains("INTERNAL_ERROR") && !text.contains("could not find subscription") {
            Issue.record("An item's INTERNAL_ERROR at \(path): \(sent)\n\(text)")
            return false
        }
        for (name, secret) in Self.secrets
        where name != person.name && text.contains(secret) {
            Issue.record("\(person.name) read \(name)'s secret at \(path): \(sent)\n\(text)")
            return false
        }
        return true
    }

    @discardableResult
    private func send(
        _ path: String, _ body: String, as person: Person
    ) async throws -> TestResponse {
        let answer = try await client.execute(
            uri: Self.uri(path, person), method: .post, body: ByteBuffer(string: body))
        guard answer.status == .ok else { throw FuzzFailure(answer: String(buffer: answer.body)) }
        return answer
    }

    private mutating func send(
        _ path: String, _ body: [UInt8], as person: Person
    ) async throws -> TestResponse {
        requests += 1
        return try await client.execute(
            uri: Self.uri(path, person), method: .post, body: ByteBuffer(bytes: body))
    }

    private static func uri(_ path: String, _ person: Person) -> String {
        "/database/1/\(Self.container)/development/\(path)\(person.query)&stratusExtensions=1"
    }
}

private struct FuzzFailure: Error {
    let answer: String
}
