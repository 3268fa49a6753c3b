import Foundation
import TestProcesses
import Testing

/// Acknowledged assets exist after a kill, and unacknowledged uploads leave nothing.
@Suite struct AssetDurabilityTests {
    @Test func savedAssetSurvivesKillButBrokenUploadDoesNot() throws {
        let folder = try TemporaryFolder()
        var instance = try ServedInstance(dataFolder: folder.path)
        var session = try Session(instance, user: "alice")
        let photo = String(repeating: "photo", count: 10_000)
        let uploaded = try Self.upload(photo, session, instance)
        let saved = try session.post(
            "records/modify",
            #"{"operations":[{"operationType":"create","record":{"recordName":"a","recordType":"Hut","#
                + #""fields":{"photo":{"value":\#(uploaded)}}}}]}"#)
        #expect(saved.status == 200)

        // An upload that is not in a record when the process ends, and one that is incomplete.
        let unsaved = try Self.upload("other", session, instance)
        let broken = try RawConnection(port: instance.port)
        try broken.send(
            "POST \(Self.uploadPath(session)) HTTP/1.1\r\nHost: localhost\r\n"
                + "Content-Length: 2000000\r\n\r\n" + String(repeating: "x", count: 1_500_000))
        try Self.wait { try !Self.names(in: folder.path + "/incoming").isEmpty }
        instance.kill()

        instance = try ServedInstance(dataFolder: folder.path)
        session = try Session(instance, user: "alice")
        #expect(try Self.names(in: folder.path + "/incoming").isEmpty)
        let found = try session.post("records/lookup", #"{"records":[{"recordName":"a"}]}"#)
        #expect(try Self.fetch(Self.photo(of: found), instance) == photo)
        let later = try session.post(
            "records/modify",
            #"{"operations":[{"operationType":"create","record":{"recordName":"b","recordType":"Hut","#
                + #""fields":{"photo":{"value":\#(unsaved)}}}}]}"#)
        #expect(try Self.fetch(Self.photo(of: later), instance) == "other")
        #expect(instance.terminate() == 0)
    }

    private static func uploadPath(_ session: Session) throws -> String {
        let tokens = try session.post("assets/upload", #"{"tokens":[{"fieldName":"photo"}]}"#)
        let token = try #require(try tokens.object()["tokens"] as? [[String: Any]])[0]
        return String(try #require(token["url"] as? String).dropFirst("http://localhost".count))
    }

    /// The value to save, as JSON.
    private static func upload(
        _ bytes: String, _ session: Session, _ instance: ServedInstance
    ) throws -> Substring {
        let connection = try RawConnection(port: instance.port)
        let answer = try Session.post(connection, try uploadPath(session), bytes)
        #expect(answer.status == 200)
        return answer.body.dropFirst(#"{"singleFile":"#.count).dropLast()
    }

    private static func photo(of answer: Answer) throws -> [String: Any] {
        let record = try #require(try answer.object()["records"] as? [[String: Any]])[0]
        let fields = try #require(record["fields"] as? [String: [String: Any]])
        return try #require(fields["photo"]?["value"] as? [String: Any])
    }

    private static func fetch(_ photo: [String: Any], _ instance: ServedInstance) throws -> String {
        let url = try #require(photo["downloadURL"] as? String)
        let connection = try RawConnection(port: instance.port)
        try connection.send(
            "GET \(url.dropFirst("http://localhost".count)) HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return connection.readAnswer().body
    }

    private static func names(in folder: String) throws -> [String] {
        guard FileManager.default.fileExists(atPath: folder) else { return [] }
        return try FileManager.default.contentsOfDirectory(atPath: folder)
    }

    /// Repeats a check until it succeeds, for at most ten seconds.
    private static func wait(until isSo: () throws -> Bool) throws {
        for _ in 0..<1_000 {
            if try isSo() { return }
            usleep(10_000)
        }
        Issue.record("The condition was not met within ten seconds.")
    }
}
