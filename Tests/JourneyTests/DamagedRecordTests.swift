import Foundation
import Testing

/// A byte of a stored record is changed while the service is stopped.
@Suite struct DamagedRecordTests {
    /// Neither the changed value nor an answer that is no JSON is served; what is beside it is.
    @Test(arguments: [#""value":"the way to a""#, #"{"title""#])
    func damagedRecordAnswersErrorAndOthersAreServed(_ text: String) throws {
        let folder = try TemporaryFolder()
        var instance = try ServedInstance(dataFolder: folder.path)
        var session = try Session(instance, user: "alice")
        for name in ["a", "b"] {
            let saved = try session.post(
                "records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordName":"\#(name)","#
                    + #""recordType":"Trip","fields":{"title":{"value":"the way to \#(name)"}}}}]}"#
            )
            #expect(saved.status == 200)
        }
        // After a clean stop the file has everything.
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
                "records/lookup", #"{"records":[{"recordName":"\#(name)"}]}"#)
            statuses.append(found.status)
            if found.status == 200 {
                #expect(found.body.contains(#""value":"the way to \#(name)""#))
            } else {
                #expect(found.body.contains(#""stratusErrorCode":1001"#), "\(found.body)")
            }
        }
        // Which of the two has the first bytes like that is SQLite's affair.
        #expect(statuses.sorted() == [200, 503])
        #expect(instance.terminate() == 0)
    }
}
