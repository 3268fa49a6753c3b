import Foundation
import GRDB
import TestProcesses
import TestSeeds
import Testing

/// `stratus` and `shopping` on the files that an earlier build left (Tests/Fixtures/Formats).
@Suite struct StoredDataTests {
    private static let container = "iCloud.org.example.Formats"
    /// Serves the fixture so that old tombstones stay, however long ago the files were made.
    private func serve(_ fixture: StoredFormatFixture) throws -> ServedInstance {
        try ServedInstance(
            dataFolder: fixture.dataFolder,
            arguments: ["--dev", "--limit", "tombstoneSeconds=3000000000"])
    }

    private func served(_ name: String) throws -> (StoredFormatFixture, ServedInstance) {
        let fixture = try StoredFormatFixture(name)
        return (fixture, try serve(fixture))
    }

    /// A user of the stored folder.
    private struct Person {
        let instance: ServedInstance
        let token: String
        let recordName: String
        let connection: RawConnection

        init(_ instance: ServedInstance, _ name: String) throws {
            self.instance = instance
            connection = try RawConnection(port: instance.port)
            let answer = try Session.post(connection, "/dev/sign-in", #"{"user":"\#(name)"}"#)
                .object()
            token = try #require(
                (answer["ckWebAuthToken"] as? String)?
                    .addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            recordName = try #require(answer["userRecordName"] as? String)
        }

        func post(_ action: String, _ body: String, database: String = "private") throws -> Answer {
            let place = action.hasPrefix("tokens/") ? "" : database + "/"
            return try Session.post(
                connection,
                "/database/1/\(container)/development/\(place)\(action)"
                    + "?ckAPIToken=development&ckWebAuthToken=\(token)&clientId=phone", body)
        }

        /// The names of the records in an answer.
        func names(_ answer: Answer, in key: String = "records") throws -> [String] {
            let object = try answer.object()
            let records = try #require(object[key] as? [[String: Any]], "\(answer.body)")
            return records.compactMap { $0["recordName"] as? String }.sorted()
        }
    }

    @Test(arguments: StoredFormatFixture.services)
    func doctorReportsStoredFolderAsHealthy(_ name: String) throws {
        let fixture = try StoredFormatFixture(name)
        let run = try CommandRun(["doctor", "--data", fixture.dataFolder])
        #expect(run.status == 0, "\(run.output)")
        #expect(run.output.hasPrefix("healthy: "), "\(run.output)")
    }

    @Test(arguments: StoredFormatFixture.services)
    func recordsChangesAndQueriesReadBack(_ name: String) throws {
        let (fixture, instance) = try served(name)
        let alice = try Person(instance, "alice@example.org")
        #expect(try alice.recordName == fixture.fact("alice"))
        let looked = try alice.post(
            "records/lookup",
            #"{"zoneID":{"zoneName":"Trips"},"records":[{"recordName":"hut"},{"recordName":"guide"}]}"#
        )
        #expect(looked.body.contains("Konkordia") && looked.body.contains("2851"))
        #expect(looked.body.contains("-3000000000000"))
        // The changes after the stored change token, and the tombstone.
        let changes = try alice.post(
            "records/changes",
            #"{"zoneID":{"zoneName":"Trips"},"syncToken":"\#(try fixture.fact("tripsToken"))"}"#)
        let changed = try alice.names(changes)
        #expect(changed.contains("bed") && changed.contains("bob's bed"))
        #expect(changed.contains("short-lived") && !changed.contains("guide"))
        let zones = try alice.post(
            "changes/database", #"{"syncToken":"\#(try fixture.fact("emptyDatabaseToken"))"}"#)
        #expect(zones.body.contains("Purged") && zones.body.contains("Gone"), "\(zones.body)")
        // With the stored index.
        let query = #"""
            {"zoneID":{"zoneName":"Trips"},"query":{"recordType":"Hut","filterBy":[{"fieldName":"altitude",
            "comparator":"GREATER_THAN","fieldValue":{"value":2900}}]}}
            """#
        #expect(try alice.names(alice.post("records/query", query)) == ["second hut"])
        let subscriptions = try alice.post("subscriptions/list", "{}")
        for name in ["all", "trips", "high"] {
            #expect(subscriptions.body.contains(#""\#(name)""#), "\(subscriptions.body)")
        }
        // The reference deletes its record with the target.
        let deleted = try alice.post(
            "records/modify",
            #"{"zoneID":{"zoneName":"Trips"},"operations":[{"operationType":"forceDelete","#
                + #""record":{"recordName":"guide"}}]}"#)
        #expect(deleted.status == 200)
        let gone = try alice.post(
            "records/lookup",
            #"{"zoneID":{"zoneName":"Trips"},"records":[{"recordName":"second hut"}]}"#)
        #expect(try gone.errorCode() == "NOT_FOUND")
        #expect(instance.terminate() == 0)
    }

    @Test(arguments: StoredFormatFixture.services)
    func assetsReadBack(_ name: String) throws {
        let fixture = try StoredFormatFixture(name)
        let instance = try serve(fixture)
        let alice = try Person(instance, "alice@example.org")
        let looked = try alice.post(
            "records/lookup", #"{"zoneID":{"zoneName":"Trips"},"records":[{"recordName":"hut"}]}"#)
        let record = try #require(try looked.object()["records"] as? [[String: Any]])[0]
        let fields = try #require(record["fields"] as? [String: [String: Any]])
        let photo = try #require(fields["photo"]?["value"] as? [String: Any])
        let address = try #require(photo["downloadURL"] as? String)
        let url = try #require(URL(string: address))
        let connection = try RawConnection(port: instance.port)
        try connection.send(
            "GET \(url.path)?\(url.query(percentEncoded: true) ?? "") HTTP/1.1\r\n"
                + "Host: localhost\r\n\r\n")
        let answer = connection.readAnswer()
        #expect(answer.status == 200 && answer.body == "a photo")
        #expect(instance.terminate() == 0)
    }

    @Test(arguments: StoredFormatFixture.services)
    func sharesReadBackAndTakeNewParticipants(_ name: String) throws {
        let (fixture, instance) = try served(name)
        let bob = try Person(instance, "bob")
        let alice = try fixture.fact("alice")
        let zone = #"{"zoneName":"Trips","ownerRecordName":"\#(alice)"}"#
        let shared = try bob.post(
            "records/changes", #"{"zoneID":\#(zone)}"#, database: "shared")
        #expect(try bob.names(shared).contains("bob's bed"))
        #expect(try !bob.names(shared).contains("moved bed"))
        // A new person joins by the stored link of the public share; the other share needs its owner's approval.
        let eve = try Person(instance, "eve")
        func accept(_ fact: String) throws -> Answer {
            try eve.post(
                "records/accept", #"{"shortGUIDs":[{"value":"\#(try fixture.fact(fact))"}]}"#)
        }
        let accepted = try accept("openShortGUID")
        #expect(accepted.body.contains(#""participantStatus":"ACCEPTED""#), "\(accepted.body)")
        #expect(try accept("shortGUID").body.contains("serverErrorCode"))
        // Dora's invitation by address is open, and Carol's access request waits.
        let dora = try Person(instance, "dora@example.org")
        let joined = try dora.post(
            "records/accept", #"{"shortGUIDs":[{"value":"\#(try fixture.fact("shortGUID"))"}]}"#)
        #expect(joined.body.contains(#""participantStatus":"ACCEPTED""#), "\(joined.body)")
        #expect(instance.terminate() == 0)
    }

    /// Stored events are sent as notifications, and leave the outbox.
    @Test(.timeLimit(.minutes(20)), arguments: StoredFormatFixture.services)
    func outboxEventsAreDispatched(_ name: String) async throws {
        let fixture = try StoredFormatFixture(name)
        // Her first file is that of the container Formats in development.
        let ending = "/" + (try fixture.fact("alice")) + ".sqlite"
        let file = try #require(try fixture.recordFiles().first { $0.hasSuffix(ending) })
        let queue = try connection(to: file)
        func waiting() throws -> Int? {
            try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM outbox") }
        }
        #expect(try waiting() == 1)
        let instance = try serve(fixture)
        while try waiting() != 0 { try await Task.sleep(for: .milliseconds(10)) }
        #expect(instance.terminate() == 0)
        try queue.close()
    }

    /// A share, a cascade and a zone's removal continue after a killed service, and so does a move
    /// out of a share in files whose format has it.
    @Test(
        .timeLimit(.minutes(20)),
        arguments: [
            ("2026-11-epochs", Set([1, 2, 3]), 62), ("2026-11-compound", Set([1, 2, 3, 4]), 64),
        ])
    func longChangesAreContinued(
        _ name: String, _ underWay: Set<Int>, _ shared: Int
    ) async throws {
        let fixture = try StoredFormatFixture(name)
        let ending = "/" + (try fixture.fact("carol")) + ".sqlite"
        let file = try #require(try fixture.recordFiles().first { $0.hasSuffix(ending) })
        let queue = try connection(to: file)
        func kinds() throws -> Set<Int> {
            try queue.read { try Set(Int.fetchAll($0, sql: "SELECT kind FROM long_change")) }
        }
        #expect(try kinds() == underWay)
        let instance = try serve(fixture)
        while try !kinds().isEmpty { try await Task.sleep(for: .milliseconds(10)) }
        let counts = try await queue.read {
            try Int.fetchAll(
                $0,
                sql: """
                    SELECT count(*) FROM record WHERE deleted = 0 AND share_root = 'root'
                    UNION ALL SELECT count(*) FROM reference_
                    """)
        }
        // The root, its children and the share, and a root with its share alone; no reference to a deleted
        // record is left.
        #expect(counts == [shared, 0])
        #expect(instance.terminate() == 0)
        try queue.close()
        #expect(try CommandRun(["doctor", "--data", fixture.dataFolder]).status == 0)
    }

    /// The shopping app continues after the earlier one: its queue is sent to the stored service.
    @Test(arguments: StoredFormatFixture.services)
    func shoppingAppSendsItsPendingChanges(_ name: String) throws {
        let (fixture, instance) = try served(name)
        let device = try TemporaryFolder()
        try FileManager.default.copyItem(
            atPath: fixture.shoppingPath,
            toPath: device.path + "/lists-user-alice%40example%2Eorg.sqlite")
        let (input, output) = (Pipe(), Pipe())
        let process = try ChildProcess(
            [BuiltProgram.named("shopping").path, "--data", device.path],
            input: input.fileHandleForReading, output: output.fileHandleForWriting,
            environment: [
                "STRATUS_URL": instance.url, "STRATUS_API_TOKEN": "development",
                "STRATUS_DEV_USER": "alice@example.org",
            ])
        try input.fileHandleForReading.close()
        try output.fileHandleForWriting.close()
        try input.fileHandleForWriting.write(
            contentsOf: Data(
                """
                lists
                open Weekly shopping
                show
                history milk
                history eggs
                online
                sync
                status

                """.utf8))
        try input.fileHandleForWriting.close()
        let data = try output.fileHandleForReading.readToEnd() ?? Data()
        let printed = String(decoding: data, as: UTF8.self)
        #expect(process.end() == 0)
        #expect(printed.contains("Camping (1 to buy)"), "\(printed)")
        // Items bought long ago are shown only in the activity.
        for name in ["Milk ticked", "[ ] Rye bread", "Eggs ticked", "[ ] Coffee"] {
            #expect(printed.contains(name), "\(printed)")
        }
        #expect(!printed.contains("Salt"), "\(printed)")
        #expect(printed.contains("Changes waiting to be sent: 0"), "\(printed)")
        #expect(instance.terminate() == 0)
    }

    /// A folder of a newer format is refused with one sentence.
    @Test(arguments: StoredFormatFixture.services)
    func newerFolderIsRefused(_ name: String) throws {
        let fixture = try StoredFormatFixture(name)
        let path = fixture.dataFolder + "/format"
        try Data("stratus data 99\n".utf8).write(to: URL(fileURLWithPath: path))
        let error = Pipe()
        let process = try ChildProcess(
            [
                BuiltProgram.named("stratus").path, "serve", "--port", "0",
                "--data", fixture.dataFolder,
            ], error: error.fileHandleForWriting)
        try error.fileHandleForWriting.close()
        let said = String(
            decoding: try error.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        #expect(process.end() == 1)
        #expect(said.contains(path) && said.contains("format 99"), "\(said)")
        #expect(said.contains("Update Stratus."), "\(said)")
    }
}

/// A connection beside the service's, which waits while the service opens or closes the file.
private func connection(to file: String) throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.busyMode = .timeout(60)
    return try DatabaseQueue(path: file, configuration: configuration)
}
