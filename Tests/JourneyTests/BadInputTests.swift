import Foundation
import TestProcesses
import Testing

/// Any bad input gets an error of the protocol, is not applied in part, and the service keeps running.
@Suite struct BadInputTests {
    let instance: ServedInstance
    let session: Session

    init() throws {
        instance = try ServedInstance(dataFolder: nil)
        session = try Session(instance, user: "alice")
        try session.createZone("Trips")
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let action: String
        let body: @Sendable () -> String
        let status: Int
        let code: String

        init(
            _ description: String, _ action: String, _ status: Int, _ code: String,
            _ body: @escaping @autoclosure @Sendable () -> String
        ) {
            testDescription = description
            self.action = action
            self.body = body
            self.status = status
            self.code = code
        }
    }

    static let cases: [Case] = [
        Case("malformed JSON", "records/modify", 400, "BAD_REQUEST", #"{"operations":["#),
        Case("not an object", "records/modify", 400, "BAD_REQUEST", "[]"),
        Case(
            "invalid UTF-8 escape", "records/lookup", 400, "BAD_REQUEST", #"{"records":"\ud800"}"#),
        Case(
            "wrong type of a key", "records/modify", 400, "BAD_REQUEST", #"{"operations":"create"}"#
        ),
        Case(
            "wrong type of a value", "records/modify", 400, "ATOMIC_ERROR",
            modify(#""name":{"value":"x","type":"INT64"}"#)),
        Case(
            "unknown operation", "records/modify", 400, "BAD_REQUEST",
            #"{"operations":[{"operationType":"upsert","record":{"recordName":"a"}}]}"#),
        Case(
            "deep nesting", "records/query", 400, "BAD_REQUEST",
            String(repeating: "[", count: 100_000)),
        Case(
            "unknown zone", "records/modify", 200, "ZONE_NOT_FOUND",
            #"{"atomic":false,"zoneID":{"zoneName":"Nowhere"},"operations":["#
                + #"{"operationType":"create","record":{"recordName":"a","recordType":"Hut"}}]}"#),
        Case(
            "401 operations", "records/modify", 400, "BAD_REQUEST",
            operations(
                (0...400).map {
                    #"{"operationType":"create","record":{"recordName":"r\#($0)","recordType":"Hut"}}"#
                })),
        Case(
            "a record of 1.1 MB", "records/modify", 400, "ATOMIC_ERROR",
            modify(#""text":{"value":"\#(String(repeating: "x", count: 1_100_000))"}"#)),
        Case(
            "a forged change token", "changes/zone", 200, "BAD_REQUEST",
            #"{"zones":[{"zoneID":{"zoneName":"Trips"},"syncToken":"Zm9yZ2VkIHRva2Vu"}]}"#),
        Case(
            "a forged database token", "changes/database", 400, "BAD_REQUEST",
            #"{"syncToken":"Zm9yZ2VkIHRva2Vu"}"#),
        Case(
            "a save and a delete of one ID", "records/modify", 400, "BAD_REQUEST",
            operations([
                #"{"operationType":"create","record":{"recordName":"a","recordType":"Hut"}}"#,
                #"{"operationType":"forceDelete","record":{"recordName":"a"}}"#,
            ])),
    ]

    static func operations(_ operations: [String]) -> String {
        #"{"zoneID":{"zoneName":"Trips"},"operations":[\#(operations.joined(separator: ","))]}"#
    }

    static func modify(_ fields: String) -> String {
        operations([
            #"{"operationType":"create","record":{"recordName":"a","recordType":"Hut","#
                + #""fields":{\#(fields)}}}"#
        ])
    }

    @Test(arguments: cases) func badRequestGetsProtocolErrorCode(_ bad: Case) throws {
        let answer = try session.post(bad.action, bad.body())
        #expect(answer.status == bad.status, "\(answer.body.prefix(300))")
        #expect(try answer.errorCode() == bad.code, "\(answer.body.prefix(300))")
        // Nothing was applied, and the service keeps running.
        let changes = try session.post(
            "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Trips"}}]}"#)
        #expect(changes.status == 200)
        #expect(changes.body.contains(#""records":[]"#), "\(changes.body.prefix(300))")
    }

    @Test func changeTokenOfOtherUserIsRefused() throws {
        let bob = try Session(instance, user: "bob")
        try bob.createZone("Trips")
        let page = try bob.post("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Trips"}}]}"#)
        let zones = try #require(page.object()["zones"] as? [[String: Any]])
        let token = try #require(zones[0]["syncToken"] as? String)
        let answer = try session.post(
            "changes/zone",
            #"{"zones":[{"zoneID":{"zoneName":"Trips"},"syncToken":"\#(token)"}]}"#)
        #expect(answer.status == 200)
        #expect(try answer.errorCode() == "BAD_REQUEST")
        #expect(answer.body.contains("Unknown sync continuation type"))
    }

    /// Begins a save of records: sends the rest of the head, and a part of the body.
    private func begin(_ rest: String) throws -> RawConnection {
        let connection = try RawConnection(port: instance.port)
        try connection.send(
            "POST \(session.path("records/modify")) HTTP/1.1\r\nHost: localhost\r\n" + rest)
        return connection
    }

    @Test func oversizedBodyIsRefusedUnread() throws {
        let connection = try begin("Content-Length: 900000000\r\n\r\n")
        let answer = connection.readAnswer()
        #expect(answer.status == 413)
        #expect(answer.body.contains("BAD_REQUEST"))
    }

    @Test func oversizedChunkedBodyIsRefused() throws {
        let connection = try begin("Transfer-Encoding: chunked\r\n\r\n")
        let chunk = "100000\r\n" + String(repeating: " ", count: 0x100000) + "\r\n"
        // The service answers and closes once the limit is reached; later sends fail.
        for _ in 0..<12 { try? connection.send(chunk) }
        let answer = connection.readAnswer()
        #expect(answer.status == 413 || answer.status == 0)
        #expect(try session.post("zones/list", "{}").status == 200)
    }

    @Test func incompleteRequestIsNotApplied() throws {
        do {
            _ = try begin("Content-Length: 1000\r\n\r\n{\"operations\":[")
        }
        let changes = try session.post(
            "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Trips"}}]}"#)
        #expect(changes.body.contains(#""records":[]"#))
    }

    @Test func garbageInPlaceOfHTTPIsRefused() throws {
        let connection = try RawConnection(port: instance.port)
        try connection.send("\u{16}\u{3}\u{1}\r\n\r\n")
        #expect(connection.readToEnd().hasPrefix("HTTP/1.1 400"))
    }

    @Test func unknownPathAnswersNotFoundInJSON() throws {
        let connection = try RawConnection(port: instance.port)
        let answer = try Session.post(connection, "/database/1/nowhere", "{}")
        #expect(answer.status == 404)
        #expect(try answer.errorCode() == "NOT_FOUND")
    }
}
