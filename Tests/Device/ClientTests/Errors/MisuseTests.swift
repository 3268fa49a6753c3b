import Foundation
import StratusClient
import StratusTesting
import Testing

/// What raises an exception on Apple's platforms ends the process with a sentence here.
@Suite(.timeLimit(.minutes(5)))
struct MisuseTests {
    @Test("A record has a name")
    func emptyRecordNameTraps() async {
        let empty = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = CKRecord.ID(recordName: "")
        }
        #expect(empty.says("Give the record a name of 1 to 255 characters."))
    }

    @Test("A zone has a name")
    func emptyZoneNameTraps() async {
        let empty = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = CKRecordZone(zoneName: "")
        }
        #expect(empty.says("Give the zone a name of 1 to 255 characters."))
    }

    @Test(
        "A record's type has no ASCII characters but letters, digits and underscores",
        arguments: ["", "Mountain Hut", "App.Hut", "Hut-1"])
    func invalidRecordTypeTraps(_ type: String) async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) { [type = type as String] in
            _ = CKRecord(recordType: type)
        }
        #expect(result.says("Name the type of the record with an ASCII letter"))
    }

    @Test("A share is no record of its type")
    func shareRecordTypeTraps() async {
        let share = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = CKRecord(recordType: CKRecord.SystemType.share)
        }
        #expect(share.says("Make a share with CKShare(rootRecord:) or CKShare(recordZoneID:)."))
    }

    // MARK: Fields

    @Test("A field holds the types that it can hold")
    func unsupportedFieldValueTraps() async {
        let sentence = "Give the field a string, number, date, data, reference, asset or location"
        let odd = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            CKRecord(recordType: "Hut").setValue(NSObject(), forKey: "name")
        }
        #expect(odd.says(sentence))
        let list = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            CKRecord(recordType: "Hut").setValue([NSNull()], forKey: "name")
        }
        #expect(list.says(sentence))
        let nested = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            CKRecord(recordType: "Hut")["grid"] = [[1, 2], [3]]
        }
        #expect(nested.says(sentence))
    }

    @Test("A parent is referred to without an action")
    func parentWithDeleteActionTraps() async {
        hut("a").parent = CKRecord.Reference(recordID: hut("b").recordID, action: .none)
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let child = CKRecord(recordType: "Hut")
            child.parent = CKRecord.Reference(recordID: child.recordID, action: .deleteSelf)
        }
        #expect(result.says("Refer to a parent with the action none."))
    }

    @Test("An asset is a file")
    func assetWithRemoteURLTraps() async throws {
        let url = try #require(URL(string: "https://example.org/photo.png"))
        #expect(!url.isFileURL)
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            if let url = URL(string: "https://example.org/photo.png") { _ = CKAsset(fileURL: url) }
        }
        #expect(result.says("Give CKAsset the URL of a file on this device."))
    }

    // MARK: Queries and subscriptions

    @Test("A query subscription has an occasion", arguments: [0, 8] as [UInt])
    func querySubscriptionWithoutOptionTraps(_ options: UInt) async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) { [options = options as UInt] in
            _ = CKQuerySubscription(
                recordType: "Hut", predicate: NSPredicate(value: true), subscriptionID: "none",
                options: CKQuerySubscription.Options(rawValue: options))
        }
        #expect(result.says("Let the query subscription fire on at least one occasion."))
    }

    @Test(
        "A predicate's format is whole, and has its arguments",
        arguments: [
            ("", "Give the predicate's condition a second side."),
            ("a", "Put an operator between the two sides of the condition."),
            ("a ==", "Give the predicate's condition a second side."),
            ("a == 1 AND", "Give the predicate's condition a second side."),
            ("a == 'x", "End the string of the predicate with its quotation mark."),
            ("(a == 1", "Put “)” where the predicate needs it."),
            ("a == 1)", "Join the predicate's conditions with AND."),
            ("a IN {1, 2", "Put “}” where the predicate needs it."),
            ("a == %@", "Give the predicate as many arguments as it has places."),
            ("%K == 1", "Give the predicate as many arguments as it has places."),
            ("a == %", "Write %@, %K, %d or %f for an argument of a predicate."),
        ])
    func incompletePredicateFormatTraps(_ format: String, _ sentence: String) async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) { [format = format as String] in
            _ = NSPredicate(format: format, argumentArray: nil)
        }
        #expect(result.says(sentence))
    }

    // MARK: Operations

    @Test("An operation is used once")
    func addingOperationTwiceTraps() async {
        let sentence = "Make a new operation: each is used once."
        let twice = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let database = try await TestCloud().container(
                "iCloud.org.example.Trails", user: "ida", device: "phone"
            ).privateCloudDatabase
            let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
            database.add(operation)
            database.add(operation)
        }
        #expect(twice.says(sentence))
        let again = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let container = try await TestCloud().container(
                "iCloud.org.example.Trails", user: "ida", device: "phone")
            let operation = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
            await run(operation, on: container.privateCloudDatabase)
            container.add(operation)
        }
        #expect(again.says(sentence))
    }

    @Test("The base of operations is not run")
    func runningBaseOperationTraps() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let container = try await TestCloud().container(
                "iCloud.org.example.Trails", user: "ida", device: "phone")
            await run(CKDatabaseOperation(), on: container.privateCloudDatabase)
        }
        #expect(
            result.says("Run an operation of a class below CKOperation: this one does nothing."))
    }
}

extension Optional<ExitTest.Result> {
    /// Whether the process ended with a sentence.
    fileprivate func says(_ sentence: String) -> Bool {
        self.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains(sentence) }
            ?? false
    }
}
