import Foundation
import Testing

/// What an operator does to a folder from the command line, beside the service and without it.
@Suite struct UpkeepTests {
    @Test func aPurgedZoneIsGoneBesideTheRunningService() throws {
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

    @Test func afterARestoreEveryTokenExpires() throws {
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

    private static let save =
        #"{"zoneID":{"zoneName":"Trips"},"operations":[{"operationType":"create","record":"#
        + #"{"recordType":"Hut","fields":{"beds":{"value":24}}}}],"atomic":false}"#
}
