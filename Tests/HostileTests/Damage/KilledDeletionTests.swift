import Foundation
import TestProcesses
import Testing

/// Large cascades during which the service is killed.
@Suite(.serialized) struct KilledDeletionTests {
    private static let count = 1_200
    private static let path =
        "/database/1/iCloud.org.example.Trees/development/private/records/"

    /// A user at a service that is stopped and started on the same folder.
    private final class Gardener {
        private(set) var service: AttackedService
        private let folder: String
        private var query = ""

        init(_ folder: String) throws {
            self.folder = folder
            service = try Self.service(folder)
            try signIn()
        }

        private static func service(_ folder: String) throws -> AttackedService {
            try AttackedService(
                [
                    "--dev", "--limit", "recordsPerCascade=50", "--limit", "recordsPerStep=20",
                ], storage: ["--data", folder])
        }

        private func signIn() throws {
            let body = try RawConnection(attacking: service.port)
                .ask(posting("/dev/sign-in", #"{"user":"ida"}"#)).body
            let signIn = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any]
            let token = try #require(signIn?["ckWebAuthToken"] as? String)
            query =
                "?ckAPIToken=development&ckWebAuthToken="
                + (token.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")
        }

        func killAndStart() throws {
            service.end()
            service = try Self.service(folder)
            try signIn()
        }

        func begin(_ endpoint: String, _ body: String) throws -> RawConnection {
            let connection = try RawConnection(attacking: service.port)
            try connection.send(posting(path + endpoint + query, body))
            return connection
        }

        func ask(_ endpoint: String, _ body: String) throws -> [[String: Any]] {
            let answer = try begin(endpoint, body).readAnswer()
            let object = try JSONSerialization.jsonObject(with: Data(answer.body.utf8))
            return try #require((object as? [String: Any])?["records"] as? [[String: Any]])
        }

        /// The code of an attempt to change a record of the tree; nil when it was changed.
        func change(_ name: String) throws -> String? {
            let record = #"{"recordName":"\#(name)","recordType":"T","fields":{"n":{"value":1}}}"#
            return try ask(
                "modify", #"{"operations":[{"operationType":"forceUpdate","record":\#(record)}]}"#
            ).first?["serverErrorCode"] as? String
        }

        func living() throws -> Int {
            var living = 0
            for start in stride(from: 0, to: count, by: 200) {
                let names = (start..<start + 200).map { #"{"recordName":"r\#($0)"}"# }
                living += try ask("lookup", #"{"records":[\#(names.joined(separator: ","))]}"#)
                    .count { $0["serverErrorCode"] == nil }
            }
            return living
        }

        func plant() throws {
            for start in stride(from: 0, to: count, by: 200) {
                let operations = (start..<start + 200).map { number in
                    let parent = "r\((number - 1) / 4)"
                    let owner =
                        number == 0
                        ? ""
                        : #""o":{"value":{"recordName":"\#(parent)","action":"DELETE_SELF"}}"#
                    return #"{"operationType":"create","record":{"recordName":"r\#(number)","#
                        + #""recordType":"T","fields":{\#(owner)}}}"#
                }
                let results = try ask(
                    "modify", #"{"operations":[\#(operations.joined(separator: ","))]}"#)
                #expect(results.allSatisfy { $0["serverErrorCode"] == nil }, "\(results.prefix(2))")
            }
        }
    }

    /// The error that clients without the extensions get for a record that is being deleted.
    private static let busy = "TRY_AGAIN_LATER"
    private static let deletion =
        #"{"operations":[{"operationType":"forceDelete","record":{"recordName":"r0"}}]}"#

    /// Repeats a check until it succeeds, since nothing announces the change.
    private static func soon(_ condition: () throws -> Bool) rethrows -> Bool {
        for _ in 0..<2_000 where try condition() { return true }
        return false
    }

    private func doctorFindsNothing(_ folder: String) throws {
        let doctor = try AttackedService.run(["doctor", "--data", folder])
        #expect(doctor.status == 0, "\(doctor.output)")
    }

    /// If the service ends before the answer, nothing is deleted. Then the deletion is repeated and the service
    /// ends after the answer: everything is deleted.
    @Test func killedDeletionIsAllOrNothing() throws {
        let folder = AttackedFolder()
        let gardener = try Gardener(folder.path)
        try gardener.plant()
        let unanswered = try gardener.begin("modify", Self.deletion)
        // Waits for the first record that the deletion holds.
        #expect(try Self.soon { try gardener.change("r1") == Self.busy })
        gardener.service.end()
        #expect(unanswered.readAnswer().body.isEmpty)
        try doctorFindsNothing(folder.path)
        try gardener.killAndStart()
        #expect(try gardener.living() == Self.count)
        #expect(try Self.soon { try gardener.change("r1") == nil })
        var result: [String: Any] = [:]
        _ = try Self.soon {
            result = try #require(try gardener.ask("modify", Self.deletion).first)
            return result["deleted"] != nil
        }
        #expect(result["deleted"] as? Bool == true, "\(result)")
        try gardener.killAndStart()
        #expect(try Self.soon { try gardener.living() == 0 })
        gardener.service.end()
        try doctorFindsNothing(folder.path)
    }
}
