import Foundation
import TestProcesses
import Testing

/// `stratus doctor` while a service runs, after a kill, and on a damaged folder.
@Suite struct DoctorTests {
    @Test func doctorFindsFolderHealthyWhileServingAndAfterKill() throws {
        let folder = try TemporaryFolder()
        let (instance, session) = try ServedInstance.withTrips(in: folder)
        try session.post(
            "records/modify",
            #"{"zoneID":{"zoneName":"Trips"},"operations":[{"operationType":"create","record":"#
                + #"{"recordType":"Hut","fields":{"beds":{"value":24}}}}]}"#)
        let beside = try CommandRun(["doctor", "--data", folder.path])
        #expect(beside.status == 0, "\(beside.output)")
        #expect(beside.output.hasPrefix("healthy: "), "\(beside.output)")
        instance.kill()
        let after = try CommandRun(["doctor", "--data", folder.path])
        #expect(after.status == 0, "\(after.output)")
        #expect(after.output.contains("1 records"), "\(after.output)")
    }

    @Test func doctorReportsDamagedFile() throws {
        let folder = try TemporaryFolder()
        let (instance, session) = try ServedInstance.withTrips(in: folder)
        #expect(instance.terminate() == 0)
        let file = try session.damageDatabase(in: folder)
        let run = try CommandRun(["doctor", "--data", folder.path])
        #expect(run.status == 1, "\(run.output)")
        #expect(run.output.contains(file), "\(run.output)")
    }

    /// The log of a killed service is lost, and with it most of a database.
    @Test func lossIsReportedUntilItIsAccepted() throws {
        let folder = try TemporaryFolder()
        var (instance, session) = try ServedInstance.withTrips(in: folder)
        instance.kill()
        let file =
            folder.path + "/databases/i^cloud.org.example.^journeys/development/"
            + session.identity.userRecordName + ".sqlite"
        try FileManager.default.removeItem(atPath: file + "-wal")

        let examined = try CommandRun(["doctor", "--data", folder.path])
        #expect(examined.status == 1, "\(examined.output)")
        #expect(examined.output.contains("commits fewer than were acknowledged"))
        #expect(examined.output.contains("stratus doctor --accept-loss '\(file)'"))

        let other = try CommandRun(["doctor", "--data", folder.path, "--accept-loss", "nothing"])
        #expect(other.status != 0, "\(other.output)")
        let accepted = try CommandRun(["doctor", "--data", folder.path, "--accept-loss", file])
        #expect(accepted.status == 0, "\(accepted.output)")
        #expect(accepted.output.hasPrefix("accepted: \(file): "), "\(accepted.output)")
        let again = try CommandRun(["doctor", "--data", folder.path, "--accept-loss", file])
        #expect(again.output.hasPrefix("nothing is lost: "), "\(again.output)")
        #expect(try CommandRun(["doctor", "--data", folder.path]).status == 0)

        instance = try ServedInstance(dataFolder: folder.path)
        session = try Session(instance, user: "alice")
        try session.createZone("Trips")
        #expect(instance.terminate() == 0)
    }

    /// With both options only the loss would be accepted, and nothing be repaired.
    @Test func lossIsNotAcceptedTogetherWithARepair() throws {
        let folder = try TemporaryFolder()
        let (instance, _) = try ServedInstance.withTrips(in: folder)
        #expect(instance.terminate() == 0)
        let file = folder.path + "/directory.sqlite"
        let run = try CommandRun([
            "doctor", "--data", folder.path, "--repair", "--accept-loss", file,
        ])
        #expect(run.status != 0, "\(run.output)")
    }

    @Test func doctorDoesNotCreateMissingFolder() throws {
        let folder = try TemporaryFolder()
        let run = try CommandRun(["doctor", "--data", folder.path + "/nowhere"])
        #expect(run.status != 0)
        #expect(!FileManager.default.fileExists(atPath: folder.path + "/nowhere"))
    }
}
