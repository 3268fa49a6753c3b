import Foundation
import TestProcesses

/// One signed-in user of a service whose files are damaged, using plain HTTP and JSON.
struct DamageClient {
    static let container = "iCloud.org.example.Damage"

    struct Answer {
        var status: Int
        var body: [String: Any]

        /// The error code of the whole request, or the first item's.
        var code: Int? { item("stratusErrorCode") as? Int }
        var word: String? { item("serverErrorCode") as? String }
        var reason: String? { item("reason") as? String }
        var retryAfter: Double? { item("retryAfter") as? Double }

        private func item(_ key: String) -> Any? {
            if let value = body[key] { return value }
            for list in ["records", "zones"] {
                for case let item as [String: Any] in body[list] as? [Any] ?? [] {
                    if let value = item[key] { return value }
                }
            }
            return nil
        }
    }

    let port: Int
    private(set) var userRecordName = ""
    private var token = ""

    init(_ instance: DamageInstance, user: String) throws {
        port = instance.port
        let answer = try Self.send(
            "POST", "/dev/sign-in", #"{"user":"\#(user)"}"#, port: instance.port)
        token = answer.body["ckWebAuthToken"] as? String ?? ""
        userRecordName = answer.body["userRecordName"] as? String ?? ""
    }

    func post(_ action: String, _ body: String) throws -> Answer {
        let token = token.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let path =
            "/database/1/\(Self.container)/development/private/\(action)"
            + "?ckAPIToken=development&ckWebAuthToken=\(token)&clientId=phone"
        return try Self.send("POST", path, body, port: port)
    }

    /// Saves this many records `r0`, `r1`… in the default zone.
    func save(_ count: Int, bytes: Int, from first: Int = 0) throws -> Answer {
        let text = String(repeating: "x", count: bytes)
        let operations = (first..<first + count).map {
            #"{"operationType":"forceUpdate","record":{"recordName":"r\#($0)","recordType":"Hut","#
                + #""fields":{"text":{"value":"\#(text)","type":"STRING"}}}}"#
        }
        return try post(
            "records/modify", #"{"operations":[\#(operations.joined(separator: ","))]}"#)
    }

    func look(for count: Int) throws -> Answer {
        let names = (0..<count).map { #"{"recordName":"r\#($0)"}"# }.joined(separator: ",")
        return try post("records/lookup", #"{"records":[\#(names)]}"#)
    }

    func delete(_ name: String) throws -> Answer {
        try post(
            "records/modify",
            #"{"operations":[{"operationType":"forceDelete","record":{"recordName":"\#(name)"}}]}"#)
    }

    static func health(of instance: DamageInstance) throws -> Answer {
        try send("GET", "/health", "", port: instance.port)
    }

    /// Sends one request on a separate connection.
    private static func send(
        _ method: String, _ path: String, _ body: String, port: Int
    ) throws -> Answer {
        let connection = try RawConnection(port: port)
        let text =
            "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
            + "Connection: close\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        try connection.send(text)
        return parse(connection.readToEnd())
    }

    private static func parse(_ text: String) -> Answer {
        guard let end = text.range(of: "\r\n\r\n") else { return Answer(status: 0, body: [:]) }
        let status = text.split(separator: " ", maxSplits: 2).dropFirst().first.flatMap { Int($0) }
        // An answer without a JSON object has no members.
        let object = try? JSONSerialization.jsonObject(with: Data(text[end.upperBound...].utf8))
        return Answer(status: status ?? 0, body: object as? [String: Any] ?? [:])
    }
}
