import Foundation
import Testing

/// What an operator does to a folder from the command line, beside the service and without it.
@Suite struct UpkeepTests {
    @Test func zonePurgeWorksWhileServing() throws {
        let folder = try TemporaryFolder()
        let instance = try ServedInstance(dataFolder: folder.path)
        let session = try Session(instance, user: "alice")
        try session.createZone("Trips")
        try session.post("records/modify", Self.save)
        let which = [
            "--data", folder.path, "--container", AccountTests.container, "--environment",
            "development", "--user", "alice",
        ]
        let nobody = try CommandRun(["zone", "purge"] + which + ["--zone", "Nowhere"])
        #expect(nobody.status != 0)
        let run = try CommandRun(["zone", "purge"] + which + ["--zone", "Trips"])
        #expect(run.status == 0, "\(run.output)")
        let saved = try session.post("records/modify", Self.save)
        #expect(saved.body.contains("\"stratusErrorCode\":28"), "\(saved.body)")
        let doctor = try CommandRun(["doctor", "--data", folder.path])
        #expect(doctor.status == 0, "\(doctor.output)")
        #expect(instance.terminate() == 0)
    }

    @Test func restoreExpiresChangeTokens() throws {
        let folder = try TemporaryFolder()
        var instance = try ServedInstance(dataFolder: folder.path)
        let session = try Session(instance, user: "alice")
        try session.createZone("Trips")
        let first = try session.post("records/changes", #"{"zoneID":{"zoneName":"Trips"}}"#)
        let token = try #require(try first.object()["syncToken"] as? String)
        #expect(instance.terminate() == 0)
        let run = try CommandRun(["restored", "--data", folder.path])
        #expect(run.status == 0, "\(run.output)")
        let compact = try CommandRun(["compact", "--data", folder.path])
        #expect(compact.output == "tombstones removed: 0\n")
        instance = try ServedInstance(dataFolder: folder.path)
        let again = try Session(instance, user: "alice")
        let answer = try again.post(
            "records/changes", #"{"zoneID":{"zoneName":"Trips"},"syncToken":"\#(token)"}"#)
        #expect(try answer.errorCode() == "CHANGE_TOKEN_EXPIRED")
        #expect(instance.terminate() == 0)
    }

    /// What a crashed upload left goes, beside the running service; an asset of a record never does.
    @Test func collectRemovesUnreferencedFiles() throws {
        let folder = try TemporaryFolder()
        let instance = try ServedInstance(dataFolder: folder.path)
        let session = try Session(instance, user: "alice")
        try session.createZone("Trips")
        let upload = try session.post(
            "assets/upload",
            #"{"zoneID":{"zoneName":"Trips"},"tokens":[{"recordName":"a","fieldName":"photo"}]}"#)
        let tokens = try #require(try upload.object()["tokens"] as? [[String: Any]])
        let address = try #require((tokens[0]["url"] as? String).flatMap(URL.init))
        let connection = try RawConnection(port: instance.port)
        let stored = try Session.post(connection, address.path, "the photo's bytes").object()
        let receipt = try JSONSerialization.data(withJSONObject: stored["singleFile"] ?? [:])
        let saved = try session.post(
            "records/modify",
            #"{"zoneID":{"zoneName":"Trips"},"operations":[{"operationType":"create","record":"#
                + #"{"recordName":"a","recordType":"Photo","fields":{"photo":{"value":"#
                + String(decoding: receipt, as: UTF8.self) + "}}}}]}")
        #expect(try saved.errorCode() == nil, "\(saved.body)")

        // The file of the asset is named by its digest and a number; the same with another number is one
        // that no database knows.
        let blob = try #require(
            FileManager.default.subpathsOfDirectory(atPath: folder.path)
                .first { $0.split(separator: ".").last?.count == 16 })
        let stray = folder.path + "/" + blob.dropLast(16) + "00000000000000aa"
        try FileManager.default.copyItem(atPath: folder.path + "/" + blob, toPath: stray)
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -10 * 24 * 3600)], ofItemAtPath: stray)
        let run = try CommandRun(["collect", "--data", folder.path])
        #expect(run.output == "Removed 0 assets (0 bytes) and 1 files that crashes left.\n")
        #expect(!FileManager.default.fileExists(atPath: stray))
        #expect(FileManager.default.fileExists(atPath: folder.path + "/" + blob))
        #expect(try CommandRun(["doctor", "--data", folder.path]).status == 0)
        #expect(instance.terminate() == 0)
    }

    private static let save =
        #"{"zoneID":{"zoneName":"Trips"},"operations":[{"operationType":"create","record":"#
        + #"{"recordType":"Hut","fields":{"beds":{"value":24}}}}],"atomic":false}"#
}
