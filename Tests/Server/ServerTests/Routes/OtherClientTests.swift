import Foundation
import StratusRecords
import StratusService
import StratusStorage
import StratusWire
import TestServing
import Testing

/// What clients other than this project's see.
@Suite struct OtherClientTests {
    private static let container = "/database/1/iCloud.org.example.Trails/development"

    private func service() -> CloudService {
        CloudService(
            storage: SQLiteStorageEngine.inMemory(),
            settings: ServiceSettings(isForDevelopment: true))
    }

    /// A client of another implementation.
    private struct Client {
        let port: Int
        var query = "?ckAPIToken=development"

        /// The head of the answer and the JSON after it.
        func ask(
            _ method: String = "POST", _ path: String, _ body: String = "{}"
        ) async throws -> (head: String, json: [String: Any]) {
            let text = try await BareConnection(port).ask(
                post(path + query, body).replacingOccurrences(of: "POST ", with: method + " "))
            let parts = try #require(text.range(of: "\r\n\r\n"))
            // A page or an empty body is not JSON.
            let json = try? JSONSerialization.jsonObject(with: Data(text[parts.upperBound...].utf8))
            return (String(text[..<parts.lowerBound]), json as? [String: Any] ?? [:])
        }

        mutating func signIn() async throws {
            let answer = try await ask("POST", "/dev/sign-in", #"{"user":"alice"}"#).json
            let token = try #require(answer["ckWebAuthToken"] as? String)
            let escaped = token.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
            query += "&ckWebAuthToken=" + (escaped ?? "")
        }
    }

    /// A client with a closed list of error codes cannot decode this project's own; its client says that it knows
    /// them.
    @Test(arguments: [true, false])
    func expiredTokenIsBadRequestToOtherClients(_ knowsOurs: Bool) async throws {
        try await withServer(service()) { port in
            var client = Client(port: port)
            try await client.signIn()
            if knowsOurs { client.query += "&stratusExtensions=1" }
            let zones = Self.container + "/private/zones/modify"
            let zone = #"{"zoneID":{"zoneName":"Trips"}}"#
            let make = #"{"operations":[{"operationType":"create","zone":\#(zone)}]}"#
            let made = try await client.ask("POST", zones, make).json
            let token = try #require(
                (made["zones"] as? [[String: Any]])?.first?["syncToken"] as? String)
            _ = try await client.ask(
                "POST", zones, #"{"operations":[{"operationType":"delete","zone":\#(zone)}]}"#)
            _ = try await client.ask("POST", zones, make)
            let code = knowsOurs ? "CHANGE_TOKEN_EXPIRED" : "BAD_REQUEST"
            // As the error of an item, and of the whole request.
            let item = try await client.ask(
                "POST", Self.container + "/private/changes/zone",
                #"{"zones":[{"zoneID":{"zoneName":"Trips"},"syncToken":"\#(token)"}]}"#
            ).json
            let failed = try #require((item["zones"] as? [[String: Any]])?.first)
            let whole = try await client.ask(
                "POST", Self.container + "/private/records/changes",
                #"{"zoneID":{"zoneName":"Trips"},"syncToken":"\#(token)"}"#)
            #expect(whole.head.hasPrefix("HTTP/1.1 400"))
            for error in [failed, whole.json] {
                #expect(error["serverErrorCode"] as? String == code)
                #expect(error["stratusErrorCode"] as? Int == 21)
                #expect(
                    error["reason"] as? String == "client knowledge differs from server knowledge")
            }
        }
    }

    /// Only clients that ask for the extensions get exact dates; a decoder that checks its keys fails on unknown
    /// ones.
    @Test(arguments: [true, false])
    func exactDatesAreSentOnlyWithExtensions(_ knowsOurs: Bool) async throws {
        try await withServer(service()) { port in
            var ours = Client(port: port)
            try await ours.signIn()
            var other = ours
            ours.query += "&stratusExtensions=1"
            if knowsOurs { other.query += "&stratusExtensions=1" }
            let records = Self.container + "/private/records/"
            let zone = #""zoneID":{"zoneName":"Trips"}"#
            _ = try await ours.ask(
                "POST", Self.container + "/private/zones/modify",
                #"{"operations":[{"operationType":"create","zone":{\#(zone)}}]}"#)
            let seconds = 721_692_800.123_456_7
            let date = ExactDate.milliseconds(of: seconds)
            let place =
                #"{"latitude":1,"longitude":2,"timestamp":\#(date),"exactTimestamp":\#(seconds)}"#
            let fields = """
                {"at":{"value":\(date),"type":"TIMESTAMP","exactValue":\(seconds)},
                 "dates":{"value":[\(date)],"type":"TIMESTAMP_LIST","exactValue":[\(seconds)]},
                 "place":{"value":\(place),"type":"LOCATION"}}
                """
            func operation(_ type: String) -> String {
                """
                {\(zone),"operations":[{"operationType":"\(type)","record":{"recordName":"hut",
                 "recordType":"Hut","fields":\(fields)}}]}
                """
            }
            let made = try await ours.ask("POST", records + "modify", operation("create")).json
            #expect("\(made)".contains("exactValue") && "\(made)".contains("exactTimestamp"))
            // Reads, a save of the client's own, and the server's record in a conflict.
            for (path, body) in [
                ("lookup", #"{\#(zone),"records":[{"recordName":"hut"}]}"#),
                ("query", #"{\#(zone),"query":{"recordType":"Hut"}}"#),
                ("changes", "{\(zone)}"), ("modify", operation("forceUpdate")),
                ("modify", operation("create")),
            ] {
                let answer = try await other.ask("POST", records + path, body).json
                let text = "\(answer)"
                #expect(text.contains("\(date)"), "\(path): \(text)")
                #expect(text.contains("exactValue") == knowsOurs, "\(path): \(text)")
                #expect(text.contains("exactTimestamp") == knowsOurs, "\(path): \(text)")
            }
        }
    }

    @Test func everyAnswerHasARequestUUID() async throws {
        try await withServer(service()) { port in
            var client = Client(port: port)
            try await client.signIn()
            var seen: Set<String> = []
            for (method, path) in [
                ("POST", Self.container + "/private/zones/list"),
                ("POST", Self.container + "/private/records/modify"),
                ("POST", "/nowhere"), ("GET", "/health"), ("GET", "/assets/get/none"),
                ("DELETE", Self.container + "/private/zones/list"), ("GET", "/share/x"),
            ] {
                let answer = try await client.ask(method, path)
                let line = answer.head.lowercased().split(separator: "\r\n")
                    .first { $0.hasPrefix("x-apple-request-uuid: ") }
                let uuid = try #require(line?.dropFirst(22), "\(method) \(path)")
                #expect(UUID(uuidString: String(uuid)) != nil)
                #expect(seen.insert(String(uuid)).inserted)
                if let named = answer.json["uuid"] as? String {
                    #expect(named.lowercased() == uuid)
                }
            }
        }
    }

    @Test(arguments: [
        ("PUT", "/database/1/c/development/private/records/modify", "POST"),
        ("GET", "/database/1/c/development/private/records/modify", "POST"),
        ("DELETE", "/database/1/c/development/private/zones/list", "GET, POST"),
        ("POST", "/assets/get/x", "GET, HEAD"), ("POST", "/health", "GET"),
    ])
    func wrongMethodIsNotAllowed(_ method: String, _ path: String, _ allowed: String) async throws {
        try await withServer(service()) { port in
            let answer = try await Client(port: port).ask(method, path)
            #expect(answer.head.hasPrefix("HTTP/1.1 405"))
            #expect(
                answer.head.split(separator: "\r\n").contains("Allow: \(allowed)"),
                "\(answer.head)")
            #expect(answer.json["serverErrorCode"] as? String == "BAD_REQUEST")
            let nowhere = try await Client(port: port).ask(method, "/nowhere")
            #expect(nowhere.head.hasPrefix("HTTP/1.1 404"))
        }
    }

    @Test func pushTokensAreServedUnderADatabaseToo() async throws {
        try await withServer(service()) { port in
            var client = Client(port: port)
            try await client.signIn()
            let answer = try await client.ask(
                "POST", Self.container + "/public/tokens/create",
                #"{"apnsEnvironment":"development"}"#
            ).json
            #expect((answer["apnsToken"] as? String)?.isEmpty == false)
        }
    }
}
