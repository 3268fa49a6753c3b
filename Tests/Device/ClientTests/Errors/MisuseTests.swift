import Foundation
import StratusClient
import StratusTesting
import Testing

/// Misuse that raises an exception on Apple's platforms ends the process here, with a message.
@Suite(.timeLimit(.minutes(20)))
struct MisuseTests {
    @Test("An empty record name traps")
    func emptyRecordNameTraps() async {
        let empty = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = CKRecord.ID(recordName: "")
        }
        #expect(empty.says("The record's name is empty; give it 1 to 255 characters."))
    }

    @Test("An empty zone name traps")
    func emptyZoneNameTraps() async {
        let empty = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = CKRecordZone(zoneName: "")
        }
        #expect(empty.says("The zone's name is empty; give it 1 to 255 characters."))
    }

    @Test(
        "A record type with other ASCII characters than letters, digits and underscores traps",
        arguments: ["", "Mountain Hut", "App.Hut", "Hut-1"])
    func invalidRecordTypeTraps(_ type: String) async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) { [type = type as String] in
            _ = CKRecord(recordType: type)
        }
        #expect(result.says("name it with an ASCII letter"))
    }

    @Test("A record of the type of shares traps")
    func shareRecordTypeTraps() async {
        let share = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = CKRecord(recordType: CKRecord.SystemType.share)
        }
        #expect(
            share.says(
                "A share is not a plain record; make it with CKShare(rootRecord:) or"
                    + " CKShare(recordZoneID:)."))
    }

    // MARK: Fields

    @Test("A field value of an unsupported type traps")
    func unsupportedFieldValueTraps() async {
        let sentence =
            "has a value of a type that records do not support; give it a"
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

    @Test("A parent reference with the action deleteSelf traps")
    func parentWithDeleteActionTraps() async {
        hut("a").parent = CKRecord.Reference(recordID: hut("b").recordID, action: .none)
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let child = CKRecord(recordType: "Hut")
            child.parent = CKRecord.Reference(recordID: child.recordID, action: .deleteSelf)
        }
        #expect(result.says("has the action deleteSelf; use the action none."))
    }

    @Test("An asset with a remote URL traps")
    func assetWithRemoteURLTraps() async throws {
        let url = try #require(URL(string: "https://example.org/photo.png"))
        #expect(!url.isFileURL)
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            if let url = URL(string: "https://example.org/photo.png") { _ = CKAsset(fileURL: url) }
        }
        #expect(
            result.says(
                "The asset's URL https://example.org/photo.png is not a file URL; pass the URL of a file on this device."
            )
        )
    }

    // MARK: Queries and subscriptions

    @Test("A query subscription without an option traps", arguments: [0, 8] as [UInt])
    func querySubscriptionWithoutOptionTraps(_ options: UInt) async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) { [options = options as UInt] in
            _ = CKQuerySubscription(
                recordType: "Hut", predicate: NSPredicate(value: true), subscriptionID: "none",
                options: CKQuerySubscription.Options(rawValue: options))
        }
        #expect(result.says("The query subscription has no firing option; give it at least one."))
    }

    @Test(
        "An incomplete predicate format, or one with missing arguments, traps",
        arguments: [
            ("", "A condition of the predicate is incomplete; add the missing part."),
            ("a", "A condition has no operator; put one between its two sides."),
            ("a ==", "A condition of the predicate is incomplete; add the missing part."),
            ("a == 1 AND", "A condition of the predicate is incomplete; add the missing part."),
            ("a == 'x", "A string of the predicate has no end; close it with its quotation mark."),
            ("(a == 1", "“)” is missing in the predicate; put it where it belongs."),
            ("a == 1)", "The predicate's conditions are not joined; write AND between them."),
            ("a IN {1, 2", "“}” is missing in the predicate; put it where it belongs."),
            (
                "a == %@",
                "The predicate has more placeholders than arguments; give an argument for each."
            ),
            (
                "%K == 1",
                "The predicate has more placeholders than arguments; give an argument for each."
            ),
            (
                "a == %",
                "The predicate has an unknown placeholder; write %@, %K, %d or"
                    + " %f."
            ),
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

    @Test("Adding an operation twice traps")
    func addingOperationTwiceTraps() async {
        let sentence = "The operation was added before, and each is used once; make a new one."
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

    @Test("Running the base class of operations traps")
    func runningBaseOperationTraps() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let container = try await TestCloud().container(
                "iCloud.org.example.Trails", user: "ida", device: "phone")
            await run(CKDatabaseOperation(), on: container.privateCloudDatabase)
        }
        #expect(
            result.says("CKOperation itself does nothing; run an operation of a subclass."))
    }
}

extension Optional<ExitTest.Result> {
    /// Whether the process ended with a message.
    fileprivate func says(_ sentence: String) -> Bool {
        self.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains(sentence) }
            ?? false
    }
}
