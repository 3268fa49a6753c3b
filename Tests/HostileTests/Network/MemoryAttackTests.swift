import Foundation
import TestProcesses
import Testing

/// Clients that make the service hold bytes: half-sent bodies, unread answers, heads that never
/// end.
@Suite(.serialized) struct MemoryAttackTests {
    private static let path = "/database/1/iCloud.org.example.Doors/development/public"
    private static let credentials = "?ckAPIToken=development"

    /// A scaled service in the suite, the default one in the long form.
    private static func service(_ arguments: [String] = []) throws -> AttackedService {
        try AttackedService(
            ["--dev"] + (isLongForm ? [] : ["--limit", "memoryBytes=32_000_000"]) + arguments)
    }

    private static var connections: Int { isLongForm ? 2_000 : 60 }
    /// By how much the process may grow.
    private static var megabytes: Int { isLongForm ? 512 : 130 }

    private static func milliseconds(_ work: () throws -> Void) rethrows -> Double {
        let start = ContinuousClock.now
        try work()
        return (ContinuousClock.now - start) / .milliseconds(1)
    }

    /// The slowest of several requests for `/health`, each on a separate connection.
    private static func slowestHealth(_ service: AttackedService) throws -> Double {
        try (0..<20).map { _ in
            try milliseconds {
                let connection = try RawConnection(attacking: service.port)
                #expect(try connection.ask(getting("/health")).status == 200)
            }
        }.max() ?? 0
    }

    @Test func halfSentBodiesAreHeldWithinBudget() throws {
        let service = try Self.service()
        let body = Array(repeating: UInt8(ascii: " "), count: 7_900_000)
        var attackers: [(connection: RawConnection, sent: Int)] = []
        for number in 0..<Self.connections {
            let connection = try RawConnection(
                attacking: service.port, from: "127.0.0.\(2 + number % 10)")
            try connection.send(
                posting(
                    Self.path + "/records/query" + Self.credentials, "", announcing: 8_000_000))
            attackers.append((connection, 0))
        }
        var worst = 0
        // Until no more is accepted for a while: bytes that the service does not read stay with the attackers.
        for _ in 0..<4_000 {
            var taken = 0
            for index in attackers.indices {
                let rest = body[attackers[index].sent...].prefix(262_144)
                let count = attackers[index].connection.offer(rest) ?? 0
                attackers[index].sent += count
                taken += count
            }
            worst = max(worst, try service.residentMegabytes())
            guard taken == 0 else { continue }
            let isTakenSoon = attackers.contains {
                $0.sent < body.count
                    && $0.connection.wait(for: Int16(POLLOUT), 3 / Double(Self.connections))
            }
            if !isTakenSoon { break }
        }
        worst = max(worst, try service.residentMegabytes())
        #expect(worst < Self.megabytes, "\(worst) MB")
        #expect(try Self.slowestHealth(service) < 1_000)
        // A bystander's small request is answered anyway.
        let bystander = try RawConnection(attacking: service.port)
        let signIn = try bystander.ask(posting("/dev/sign-in", #"{"user":"ida"}"#))
        #expect(signIn.status == 200, "\(signIn)")
    }

    @Test func unreadAnswersAreHeldWithinBudget() throws {
        let service = try Self.service()
        let author = try RawConnection(attacking: service.port)
        let names = try Self.fill(service, author, records: isLongForm ? 20 : 4)
        let lookup =
            #"{"records":[\#(names.map { #"{"recordName":"\#($0)"}"# }.joined(separator: ","))]}"#
        var attackers: [RawConnection] = []
        var worst = 0
        for number in 0..<(isLongForm ? 300 : Self.connections) {
            let connection = try RawConnection(
                attacking: service.port, from: "127.0.0.\(2 + number % 10)")
            try connection.send(
                posting(Self.path + "/records/lookup" + Self.credentials, lookup))
            attackers.append(connection)
            worst = max(worst, try service.residentMegabytes())
        }
        // Each is answered, or refused for lack of memory; the attackers read neither.
        for connection in attackers { _ = connection.hasSomething(within: 20) }
        worst = max(worst, try service.residentMegabytes())
        #expect(worst < Self.megabytes, "\(worst) MB")
        let bystander = try RawConnection(attacking: service.port)
        #expect(try bystander.ask(posting("/dev/sign-in", #"{"user":"ida"}"#)).status == 200)
    }

    /// Saves records of almost a megabyte each.
    private static func fill(
        _ service: AttackedService, _ connection: RawConnection, records: Int
    ) throws -> [String] {
        let signIn = try connection.ask(posting("/dev/sign-in", #"{"user":"author"}"#)).body
        let object = try JSONSerialization.jsonObject(with: Data(signIn.utf8)) as? [String: Any]
        let token =
            try #require(object?["ckWebAuthToken"] as? String)
            .addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let text = String(repeating: "x", count: 990_000)
        return try (0..<records).map { number in
            let saved = try connection.ask(
                posting(
                    path + "/records/modify" + credentials + "&ckWebAuthToken=\(token)",
                    """
                    {"operations":[{"operationType":"create","record":{"recordType":"Large",\
                    "recordName":"r\(number)","fields":{"text":{"value":"\(text)"}}}}]}
                    """))
            #expect(saved.status == 200)
            return "r\(number)"
        }
    }

    @Test func incompleteRequestsDoNotDelayHealthCheck() throws {
        let service = try Self.service(isLongForm ? [] : ["--limit", "connections=400"])
        let head = "POST /dev/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Le"
        var attackers: [RawConnection] = []
        for number in 0..<(isLongForm ? 10_000 : 400) {
            let connection = try RawConnection(
                attacking: service.port, from: "127.0.0.\(2 + number % 10)")
            // Connections beyond an address's share are closed at once.
            try? connection.send(
                number.isMultiple(of: 2)
                    ? head : posting("/dev/sign-in", #"{"us"#, announcing: 100))
            attackers.append(connection)
        }
        let slowest = try Self.slowestHealth(service)
        #expect(slowest < (isLongForm ? 100 : 1_000), "\(slowest) ms")
        #expect(attackers.count > 100)
    }

    // MARK: Time

    private static let short = [
        "--limit", "requestReadSeconds=1", "--limit", "requestHeadSeconds=1", "--limit",
        "answerWriteSeconds=1", "--limit", "minimumBytesPerSecond=1_000_000",
    ]

    /// Bytes that arrive slowly do not extend the deadline.
    @Test(arguments: [
        "POST /dev/sign-in HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        posting("/dev/sign-in", "{", announcing: 7_000_000),
        // Refused after its head, while its body continues.
        posting("/nowhere", "{", announcing: 60_000),
    ]) func slowlySentRequestIsClosed(_ beginning: String) throws {
        let service = try Self.service(Self.short)
        let connection = try RawConnection(attacking: service.port)
        try connection.send(beginning)
        let start = ContinuousClock.now
        var isOpen = true
        while isOpen, ContinuousClock.now - start < .seconds(8) {
            isOpen = connection.offer([UInt8(ascii: "x")][...]) != nil
            if isOpen { isOpen = !connection.isClosed(within: 0.1) }
        }
        #expect(!isOpen)
    }

    @Test func connectionWithUnreadAnswerIsClosed() throws {
        let service = try Self.service(Self.short)
        let author = try RawConnection(attacking: service.port)
        let names = try Self.fill(service, author, records: 4)
        let lookup =
            #"{"records":[\#(names.map { #"{"recordName":"\#($0)"}"# }.joined(separator: ","))]}"#
        let connection = try RawConnection(attacking: service.port)
        try connection.send(posting(Self.path + "/records/lookup" + Self.credentials, lookup))
        #expect(connection.hasSomething(within: 10))
        #expect(connection.isClosed(within: 10))
    }
}

extension RawConnection {
    /// Waits until there is something to read, without reading it.
    func hasSomething(within seconds: Double) -> Bool { wait(for: Int16(POLLIN), seconds) }
}
