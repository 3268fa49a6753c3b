import Foundation
import TestProcesses
import Testing

/// An operator's commands on a folder, with a running service and without.
@Suite struct JourneyUpkeepTests {
    @Test func zonePurgeWorksWhileServing() throws {
        let folder = try TemporaryFolder()
        let (instance, session) = try ServedInstance.withTrips(in: folder)
        try session.post("records/modify", Self.save)
        let which = [
            "--data", folder.path, "--container", JourneyAccountTests.container, "--environment",
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

    /// The operator does not run `stratus restored`, and the new writes have the versions of the lost ones.
    @Test func backupPutBackExpiresTokensOfLostChanges() throws {
        let folder = try TemporaryFolder()
        let backup = folder.path + "-backup"
        defer {
            // Failing to remove a temporary folder must not fail the test.
            try? FileManager.default.removeItem(atPath: backup)
        }
        var (instance, session) = try ServedInstance.withTrips(in: folder)
        try session.post("records/modify", Self.save)
        let intact = try changes(session, since: nil)
        #expect(instance.terminate() == 0)
        try FileManager.default.copyItem(atPath: folder.path, toPath: backup)
        var lost = intact
        for isRestored in [false, true] {
            if isRestored {
                try FileManager.default.removeItem(atPath: folder.path)
                try FileManager.default.copyItem(atPath: backup, toPath: folder.path)
            }
            instance = try ServedInstance(dataFolder: folder.path)
            session = try Session(instance, user: "alice")
            for _ in 0..<5 { try session.post("records/modify", Self.save) }
            if !isRestored {
                lost = try changes(session, since: intact["syncToken"] as? String)
                #expect(instance.terminate() == 0)
            }
        }
        let refused = try changes(session, since: lost["syncToken"] as? String)
        #expect(refused["serverErrorCode"] as? String == "BAD_REQUEST")
        #expect(refused["stratusErrorCode"] as? Int == 21)
        #expect(refused["stratusLastIntactVersion"] as? Int == 1)
        let missed = try changes(session, since: intact["syncToken"] as? String)
        #expect((missed["records"] as? [Any])?.count == 5)
        // The command does no harm, here while the service runs.
        let run = try CommandRun(["restored", "--data", folder.path])
        #expect(run.output.hasPrefix("databases with a new epoch: "), "\(run.output)")
        let compact = try CommandRun(["compact", "--data", folder.path])
        #expect(compact.output == "tombstones removed: 0\n")
        let again = try changes(session, since: missed["syncToken"] as? String)
        #expect((again["records"] as? [Any])?.isEmpty == true)
        #expect(instance.terminate() == 0)
    }

    private func changes(_ session: Session, since token: String?) throws -> [String: Any] {
        let token = token.map { #","syncToken":"\#($0)""# } ?? ""
        return try session.post(
            "records/changes", #"{"zoneID":{"zoneName":"Trips"}\#(token)}"#
        ).object()
    }

    /// A mistyped folder is not created, and no command reports success for it.
    @Test(arguments: ["restored", "collect", "compact"])
    func missingDataFolderIsRefused(command: String) throws {
        let place = try TemporaryFolder()
        let missing = place.path + "/missing"
        let run = try CommandRun([command, "--data", missing])
        #expect(run.status != 0, "\(run.output)")
        #expect(!FileManager.default.fileExists(atPath: missing))
    }

    /// The last number of days is one whose milliseconds do not fit into 64 bits.
    @Test(arguments: ["0", "36501", "9223372036854775807"])
    func impossibleAgeOfTombstonesIsRefused(days: String) throws {
        let folder = try TemporaryFolder()
        let made = try CommandRun(
            ["container", "create", "--data", folder.path, "--container", Session.container])
        #expect(made.status == 0)
        let run = try CommandRun(
            ["compact", "--data", folder.path, "--days", days], reading: .errors)
        #expect(run.status != 0)
        #expect(
            run.output.hasPrefix("Error: --days \(days) is not from 1 to 36500;"),
            "\(run.output)")
    }

    /// The file of a crashed upload is removed while the service runs; an asset of a record never is.
    @Test func collectRemovesUnreferencedFiles() throws {
        let folder = try TemporaryFolder()
        let (instance, session) = try ServedInstance.withTrips(in: folder)
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

        // An asset's file is named by its digest and a number. No database knows the same file with another
        // number.
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
