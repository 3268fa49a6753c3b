import Foundation
import Hummingbird
import HummingbirdTesting
import Logging
import StratusServer
import StratusService
import StratusStorage
import TestSeeds
import Testing

/// What an accepted request creates can be listed, looked up and deleted afterwards by its user, and does not
/// break another user's lists.
@Suite struct AcceptedRequestTests {
    @Test(arguments: Seeds.forTest("AcceptedRequestTests", count: 1))
    func acceptedObjectsCanBeListedLookedUpAndDeleted(_ seed: UInt64) async throws {
        let service = CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: true))
        var logger = Logger(label: "accepted")
        logger.logLevel = .critical
        let server = try buildServer(
            service, host: "127.0.0.1", port: 0, logger: logger, onListening: { _ in })
        let accepted: Int = try await server.test(.router) { client in
            var round = try await AcceptedRequests(client: client, service: service, seed: seed)
            return try await round.run(rounds: 1_500)
        }
        await service.waitUntilIdle()
        // Refused requests test nothing.
        #expect(accepted > 300, "seed \(seed)")
    }
}

/// Sends mutated requests of two users, and deletes what the accepted ones created.
private struct AcceptedRequests {
    private static let values: [FuzzBody] = [
        .text(""), .text(" "), .text("_"), .text("___recordID"), .text("___nothing"),
        .text("\u{0}"), .text("e\u{301}😀\u{FFFF}"), .text("a\"b\\c"), .text("%00/?#"),
        .text(String(repeating: "ü", count: 120)), .text("_defaultZone"), .text("Other"),
        .text("LIST_CONTAINS"), .text("CONTAINS_ALL_TOKENS"), .text("BEGINS_WITH"), .text("zone"),
        .text("database"), .text("STRING_LIST"), .raw("null"), .raw("true"), .raw("0"),
        .raw("-0.0"), .raw("1.7976931348623157e308"), .raw("1e999"), .raw("4.9e-324"),
        .raw("9223372036854775807"), .list([]), .object([]), .list([.raw("null")]),
    ]
    private static let actions: Set = [
        "records/modify", "zones/modify", "subscriptions/modify", "tokens/create",
        "tokens/register",
    ]

    private let client: any TestClientProtocol
    private let seed: UInt64
    private let people: [(name: String, query: String)]
    private let bodies: [(action: String, body: FuzzBody)]
    private var chance: FuzzChance

    init(client: any TestClientProtocol, service: CloudService, seed: UInt64) async throws {
        self.client = client
        self.seed = seed
        chance = FuzzChance(seed: seed)
        var people: [(String, String)] = []
        for name in ["alice", "bob"] {
            let signIn = try await service.signInForDevelopment(user: name + "@example.org")
            let token = signIn.webAuthToken
                .addingPercentEncoding(withAllowedCharacters: .alphanumerics)
            people.append(
                (signIn.userRecordName, "?ckAPIToken=development&ckWebAuthToken=\(token ?? "")"))
        }
        self.people = people
        bodies = try (FuzzCorpus.examples + FuzzCorpus.subscriptionsToBeSpoiled)
            .filter { Self.actions.contains($0.action) }
            .map { ($0.action, try FuzzBody($0.body)) }
        for person in people.indices {
            _ = try await send(
                "private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Trips"}}}]}"#,
                as: person)
        }
    }

    mutating func run(rounds: Int) async throws -> Int {
        var accepted = 0
        for round in 0..<rounds {
            let example = bodies[chance.below(bodies.count)]
            var body = example.body
            for _ in 0..<chance.below(4) {
                body = body.withLeafReplaced(&chance, by: Self.values)
            }
            let person = chance.below(people.count)
            let scope = chance.one(of: ["public", "private", "private", "shared"])
            let text = body.json.replacing("OWNER", with: people[person].name)
            let path =
                example.action.hasPrefix("tokens/") ? example.action : "\(scope)/\(example.action)"
            guard let answer = try await send(path, text, as: person) else { continue }
            accepted += 1
            let comment = Comment(rawValue: "seed \(seed), round \(round), \(path): \(text)")
            switch example.action {
            case "subscriptions/modify":
                try await takeBackSubscriptions(scope, person, comment)
                try await listElsewhere(1 - person, comment)
            case "zones/modify": try await takeBackZones(answer, scope, person, comment)
            case "records/modify": try await takeBackRecords(answer, text, scope, person, comment)
            default: try await takeBackToken(answer, person, comment)
            }
        }
        return accepted
    }

    private func takeBackSubscriptions(
        _ scope: String, _ person: Int, _ comment: Comment
    ) async throws {
        let listed = try #require(
            try await send("\(scope)/subscriptions/list", "{}", as: person), comment)
        let identifiers = listed["subscriptions"]?.elements.compactMap { item -> FuzzBody? in
            #expect(item["serverErrorCode"] == nil && item["subscriptionType"] != nil, comment)
            return item["subscriptionID"]
        }
        for identifier in try #require(identifiers, comment) {
            let one = FuzzBody.object([("subscriptionID", identifier)])
            let found = try await send(
                "\(scope)/subscriptions/lookup",
                FuzzBody.object([("subscriptions", .list([one]))]).json, as: person)
            #expect(
                found?["subscriptions"]?.elements.first?["subscriptionType"] != nil, comment)
            let deletion = FuzzBody.object([
                ("operationType", .text("delete")), ("subscription", one),
            ])
            let gone = try await send(
                "\(scope)/subscriptions/modify",
                FuzzBody.object([("operations", .list([deletion]))]).json, as: person)
            #expect(gone?["subscriptions"]?.elements.first?["deleted"] != nil, comment)
        }
        let rest = try await send("\(scope)/subscriptions/list", "{}", as: person)
        #expect(rest?["subscriptions"]?.elements.isEmpty == true, comment)
    }

    /// Checks that one user's data does not break another user's lists of zones and records.
    private func listElsewhere(_ person: Int, _ comment: Comment) async throws {
        for scope in ["public", "private", "shared"] {
            for action in ["subscriptions/list", "zones/list"] {
                let answer = try await send("\(scope)/\(action)", "{}", as: person)
                #expect(answer != nil, comment)
            }
        }
    }

    private func takeBackZones(
        _ answer: FuzzBody, _ scope: String, _ person: Int, _ comment: Comment
    ) async throws {
        let listed = try await send("\(scope)/zones/list", "{}", as: person)
        #expect(listed != nil, comment)
        for item in answer["zones"]?.elements ?? [] where item["serverErrorCode"] == nil {
            guard let identifier = item["zoneID"], item["deleted"] == nil else { continue }
            let zone = FuzzBody.object([("zoneID", identifier)])
            let found = try await send(
                "\(scope)/zones/lookup",
                FuzzBody.object([("zones", .list([identifier]))]).json, as: person)
            // A request may delete what it created.
            guard found?["zones"]?.elements.first?["serverErrorCode"] == nil else { continue }
            guard identifier["zoneName"]?.string != "Trips",
                identifier["zoneName"]?.string != "_defaultZone"
            else { continue }
            let gone = try await send(
                "\(scope)/zones/modify",
                FuzzBody.object([
                    (
                        "operations",
                        .list([.object([("operationType", .text("delete")), ("zone", zone)])])
                    )
                ]).json, as: person)
            #expect(gone?["zones"]?.elements.first?["serverErrorCode"] == nil, comment)
        }
    }

    private func takeBackRecords(
        _ answer: FuzzBody, _ sent: String, _ scope: String, _ person: Int, _ comment: Comment
    ) async throws {
        // Several rounds: a record that VALIDATE references or children point to is deleted after them.
        var left = answer["records"]?.elements.filter {
            $0["serverErrorCode"] == nil && $0["deleted"] == nil
        }
        for _ in 0..<4 {
            for item in left ?? [] {
                guard let name = item["recordName"], let zone = item["zoneID"] else { continue }
                let record = FuzzBody.object([("recordName", name), ("zoneID", zone)])
                let found = try await send(
                    "\(scope)/records/lookup",
                    FuzzBody.object([("records", .list([record]))]).json, as: person)
                let code = found?["records"]?.elements.first?["serverErrorCode"]?.string
                #expect(found != nil && (code == nil || code == "NOT_FOUND"), comment)
                let deletion = FuzzBody.object([
                    ("operationType", .text("forceDelete")), ("record", record),
                ])
                _ = try await send(
                    "\(scope)/records/modify",
                    FuzzBody.object([("operations", .list([deletion])), ("atomic", .raw("false"))])
                        .json, as: person)
            }
        }
        for item in left ?? [] {
            guard let name = item["recordName"], let zone = item["zoneID"] else { continue }
            let record = FuzzBody.object([("recordName", name), ("zoneID", zone)])
            let found = try await send(
                "\(scope)/records/lookup", FuzzBody.object([("records", .list([record]))]).json,
                as: person)
            #expect(
                found?["records"]?.elements.first?["serverErrorCode"]?.string == "NOT_FOUND",
                comment)
        }
        left = nil
    }

    private func takeBackToken(
        _ answer: FuzzBody, _ person: Int, _ comment: Comment
    ) async throws {
        guard let token = answer["apnsToken"]?.string else { return }
        let gone = try await send(
            "tokens/unregister",
            FuzzBody.object([
                ("apnsEnvironment", answer["apnsEnvironment"] ?? .text("development")),
                ("apnsToken", .text(token)),
            ]).json, as: person)
        #expect(gone != nil, comment)
    }

    /// - Returns: The answer's body; nil if the request was refused as a whole.
    private func send(_ path: String, _ body: String, as person: Int) async throws -> FuzzBody? {
        let answer = try await client.execute(
            uri: "/database/1/\(Fuzzer.container)/development/\(path)\(people[person].query)"
                + "&stratusExtensions=1",
            method: .post, body: ByteBuffer(string: body))
        #expect(
            answer.status.code < 500,
            "seed \(seed), \(path): \(body)\n\(String(buffer: answer.body))")
        guard answer.status == .ok else { return nil }
        return try FuzzBody(String(buffer: answer.body))
    }
}
