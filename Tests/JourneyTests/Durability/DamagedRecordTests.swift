import Foundation
import TestProcesses
import Testing

/// A byte of a stored record is changed while the service is stopped.
@Suite struct DamagedRecordTests {
    private static let changes = #"{"zones":[{"zoneID":{"zoneName":"Trips"}}]}"#

    private static func lookup(_ name: String) -> String {
        #"{"zoneID":{"zoneName":"Trips"},"records":[{"recordName":"\#(name)"}]}"#
    }

    /// Neither the changed value nor invalid JSON is served; other records are.
    @Test(arguments: [#""value":"the way to a""#, #"{"title""#])
    func damagedRecordAnswersErrorAndOthersAreServed(_ text: String) throws {
        let folder = try TemporaryFolder()
        var (instance, session) = try ServedInstance.withTrips(in: folder)
        for name in ["a", "b"] {
            let saved = try session.post(
                "records/modify",
                #"{"zoneID":{"zoneName":"Trips"},"operations":[{"operationType":"create","#
                    + #""record":{"recordName":"\#(name)","recordType":"Trip","#
                    + #""fields":{"title":{"value":"the way to \#(name)"}}}}]}"#
            )
            #expect(saved.status == 200)
        }
        // After a clean stop the file has all data.
        #expect(instance.terminate() == 0)
        let file =
            folder.path + "/databases/i^cloud.org.example.^journeys/development/"
            + session.identity.userRecordName + ".sqlite"
        var bytes = try Data(contentsOf: URL(fileURLWithPath: file))
        let place = try #require(bytes.range(of: Data(text.utf8)))
        bytes[place.lowerBound] ^= 1
        try bytes.write(to: URL(fileURLWithPath: file))

        let doctor = try CommandRun(["doctor", "--data", folder.path])
        #expect(doctor.status == 1)
        #expect(doctor.output.contains("Broken by the record "), "\(doctor.output)")

        instance = try ServedInstance(dataFolder: folder.path)
        session = try Session(instance, user: "alice")
        var statuses: [Int] = []
        for name in ["a", "b"] {
            let found = try session.post(
                "records/lookup", Self.lookup(name))
            statuses.append(found.status)
            if found.status == 200 {
                #expect(found.body.contains(#""value":"the way to \#(name)""#))
            } else {
                #expect(found.body.contains(#""stratusErrorCode":1001"#), "\(found.body)")
            }
        }
        // Which of the two records comes first in the file depends on SQLite.
        #expect(statuses.sorted() == [200, 503])
        #expect(try session.post("changes/zone", Self.changes).body.contains("1001"))
        #expect(instance.terminate() == 0)

        try expectDropped(in: folder.path, beside: statuses[0] == 200 ? "a" : "b")
    }

    /// The operator drops the row: the zone's changes continue, with a tombstone of the record.
    private func expectDropped(in folder: String, beside name: String) throws {
        #expect(try CommandRun(["doctor", "--data", folder, "--drop-damaged"]).status != 0)
        let kept = try CommandRun(["doctor", "--data", folder, "--repair"])
        #expect(kept.status == 1 && kept.output.contains("--repair --drop-damaged"))
        let run = try CommandRun(["doctor", "--data", folder, "--repair", "--drop-damaged"])
        let lost = name == "a" ? "b" : "a"
        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.contains("dropped: "), "\(run.output)")
        #expect(run.output.contains(".sqlite: the record \(lost)\n"), "\(run.output)")
        let instance = try ServedInstance(dataFolder: folder)
        let session = try Session(instance, user: "alice")
        for (record, code) in [(name, nil), (lost, "NOT_FOUND")] {
            let found = try session.post(
                "records/lookup", Self.lookup(record))
            #expect(try found.errorCode() == code)
        }
        let changes = try session.post("changes/zone", Self.changes)
        #expect(changes.status == 200 && changes.body.contains("the way to \(name)"))
        #expect(!changes.body.contains("the way to \(lost)"))
        #expect(instance.terminate() == 0)
    }
}
