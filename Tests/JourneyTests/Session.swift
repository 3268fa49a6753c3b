import Foundation
import TestProcesses
import Testing

/// What another connection of the same session needs.
struct Identity: Sendable {
    let port: Int
    let token: String
    let userRecordName: String
    var device: String
}

/// One signed-in user of a served instance, using plain HTTP and JSON.
struct Session {
    static let container = "iCloud.org.example.Journeys"

    let identity: Identity
    private let connection: RawConnection

    init(_ instance: ServedInstance, user: String, device: String = "phone") throws {
        connection = try RawConnection(port: instance.port)
        let answer = try Self.post(
            connection, "/dev/sign-in", #"{"user":"\#(user)"}"#)
        let object = try answer.object()
        identity = Identity(
            port: instance.port, token: try #require(object["ckWebAuthToken"] as? String),
            userRecordName: try #require(object["userRecordName"] as? String), device: device)
    }

    /// Another connection of the same user.
    init(_ identity: Identity) throws {
        self.identity = identity
        connection = try RawConnection(port: identity.port)
    }

    func path(_ action: String, database: String = "private") -> String {
        let allowed = CharacterSet.alphanumerics
        let token = identity.token.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
        let segment = action.hasPrefix("tokens/") ? "" : database + "/"
        return "/database/1/\(Self.container)/development/\(segment)\(action)"
            + "?ckAPIToken=development&ckWebAuthToken=\(token)&clientId=\(identity.device)"
    }

    /// Sends a request; the addresses of tokens have no database.
    @discardableResult
    func post(_ action: String, _ body: String, database: String = "private") throws -> Answer {
        try Self.post(connection, path(action, database: database), body)
    }

    func createZone(_ name: String) throws {
        let answer = try post(
            "zones/modify",
            #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(name)"}}}]}"#
        )
        guard answer.status == 200 else { throw UnexpectedAnswer(answer: answer) }
    }

    static func post(
        _ connection: RawConnection, _ path: String, _ body: String
    ) throws -> Answer {
        try connection.send(
            "POST \(path) HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
        let answer = connection.readAnswer()
        return Answer(status: answer.status, body: answer.body)
    }
}

struct Answer: Sendable {
    let status: Int
    let body: String

    /// The body as a JSON object.
    func object() throws -> [String: Any] {
        let any = try JSONSerialization.jsonObject(with: Data(body.utf8))
        guard let object = any as? [String: Any] else { throw UnexpectedAnswer(answer: self) }
        return object
    }

    /// The top-level error code, or the first item's.
    func errorCode() throws -> String? {
        let object = try object()
        if let code = object["serverErrorCode"] as? String { return code }
        for key in ["records", "zones", "subscriptions"] {
            for case let item as [String: Any] in object[key] as? [Any] ?? [] {
                if let code = item["serverErrorCode"] as? String { return code }
            }
        }
        return nil
    }
}

struct UnexpectedAnswer: Error {
    let answer: Answer
}

extension Session {
    /// Overwrites the beginning of the user's database in a folder without a running service.
    ///
    /// - Returns: the database's file.
    @discardableResult
    func damageDatabase(in folder: TemporaryFolder) throws -> String {
        let file =
            folder.path + "/databases/i^cloud.org.example.^journeys/development/"
            + identity.userRecordName + ".sqlite"
        // The write-ahead log too, which may hold the same pages.
        for path in [file, file + "-wal"] where FileManager.default.fileExists(atPath: path) {
            let handle = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            try handle.write(contentsOf: Data(repeating: 0xA5, count: 4_096))
            try handle.close()
        }
        return file
    }
}

extension ServedInstance {
    /// A service on a folder, and its user Alice, who has made the zone "Trips".
    static func withTrips(in folder: TemporaryFolder) throws -> (ServedInstance, Session) {
        let instance = try ServedInstance(dataFolder: folder.path)
        let session = try Session(instance, user: "alice")
        try session.createZone("Trips")
        return (instance, session)
    }
}
