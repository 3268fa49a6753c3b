import Foundation
import TestProcesses
import Testing

/// `stratus restore` is killed at any moment: the folder then has either the old content or the restored one, and
/// repeating the command completes it. All of them are real processes.
@Suite struct InterruptedRestoreTests {
    private static let kills = 12

    private static func create(_ name: String) -> String {
        #"{"zoneID":{"zoneName":"Trips"},"operations":[{"operationType":"create","record":"#
            + #"{"recordName":"\#(name)","recordType":"Hut","fields":{"beds":{"value":4}}}}]}"#
    }

    /// Fills a folder with one record of this name, and stops the service.
    private static func fill(_ folder: String, _ name: String) throws {
        let instance = try ServedInstance(dataFolder: folder)
        let session = try Session(instance, user: "alice")
        try session.createZone("Trips")
        let saved = try session.post("records/modify", create(name))
        #expect(try saved.errorCode() == nil)
        #expect(instance.terminate() == 0)
    }

    /// Which of the records a service finds in the folder.
    private static func names(_ folder: String) throws -> [String] {
        let instance = try ServedInstance(dataFolder: folder)
        let session = try Session(instance, user: "alice")
        let found = try session.post(
            "records/lookup",
            #"{"zoneID":{"zoneName":"Trips"},"records":[{"recordName":"old"},{"recordName":"new"}]}"#
        )
        let records = try #require(try found.object()["records"] as? [[String: Any]])
        let names = records.compactMap { $0["fields"] == nil ? nil : $0["recordName"] as? String }
        #expect(instance.terminate() == 0)
        return names
    }

    @Test func killedRestoreLeavesOldOrNewFolder() throws {
        let (old, new, place) = (
            try TemporaryFolder(), try TemporaryFolder(), try TemporaryFolder()
        )
        let backup = place.path + "/backup"
        try Self.fill(old.path, "old")
        try Self.fill(new.path, "new")
        #expect(try CommandRun(["backup", backup, "--data", new.path]).status == 0)
        let began = Date()
        let whole = place.path + "/whole"
        try FileManager.default.copyItem(atPath: old.path, toPath: whole)
        #expect(try CommandRun(["restore", backup, "--data", whole]).status == 0)
        let seconds = Date().timeIntervalSince(began)
        #expect(try Self.names(whole) == ["new"])

        var found: [[String]] = []
        for kill in 1...Self.kills {
            let target = place.path + "/target\(kill)"
            try FileManager.default.copyItem(atPath: old.path, toPath: target)
            let process = try ChildProcess(
                [BuiltProgram.named("stratus").path, "restore", backup]
                    + ["--data", target], output: .nullDevice)
            usleep(UInt32(seconds * 1_000_000 * Double(kill) / Double(Self.kills)))
            _ = process.end(with: SIGKILL)
            let names = try Self.names(target)
            #expect(names == ["old"] || names == ["new"], "\(kill)")
            found.append(names)
            let doctor = try CommandRun(["doctor", "--data", target])
            #expect(doctor.status == 0, "\(kill): \(doctor.output)")
            let again = try CommandRun(["restore", backup, "--data", target])
            #expect(again.status == 0, "\(kill): \(again.output)")
            #expect(try Self.names(target) == ["new"])
        }
        #expect(found.first == ["old"])
    }
}
