import Foundation
import StratusClient
import StratusTesting
import Testing

/// What raises an exception on Apple's platforms ends the process with a sentence here.
@Suite(.timeLimit(.minutes(2)))
struct MisuseTests {
    @Test("A record has a name of 1 to 255 characters")
    func recordNames() async {
        _ = CKRecord.ID(recordName: String(repeating: "n", count: 255))
        let empty = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = CKRecord.ID(recordName: "")
        }
        #expect(empty.says("Give the record a name of 1 to 255 characters."))
        await #expect(processExitsWith: .failure) {
            _ = CKRecord.ID(recordName: String(repeating: "n", count: 256))
        }
    }

    @Test("A zone and its owner have names of 1 to 255 characters")
    func zoneNames() async {
        _ = CKRecordZone.ID(zoneName: String(repeating: "n", count: 255))
        let empty = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = CKRecordZone(zoneName: "")
        }
        #expect(empty.says("Give the zone a name of 1 to 255 characters."))
        await #expect(processExitsWith: .failure) {
            _ = CKRecordZone.ID(zoneName: String(repeating: "n", count: 256))
        }
        await #expect(processExitsWith: .failure) {
            _ = CKRecordZone.ID(zoneName: "Trips", ownerName: "")
        }
    }

    @Test("A record has a type")
    func recordTypes() async {
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            _ = CKRecord(recordType: "")
        }
        #expect(result.says("Name the type of the record."))
    }

    @Test("A parent is referred to without an action")
    func parents() async {
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
    func assets() async throws {
        let url = try #require(URL(string: "https://example.org/photo.png"))
        #expect(!url.isFileURL)
        let result = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            if let url = URL(string: "https://example.org/photo.png") { _ = CKAsset(fileURL: url) }
        }
        #expect(result.says("Give CKAsset the URL of a file on this device."))
    }

    // Apple's raises here too; these are refused later and more mildly, at the save.

    @Test("A value that no field can hold, and an encrypted reference, fail their save alone")
    func values() async throws {
        let container = try await TestCloud().container(
            "iCloud.org.example.Trails", user: "ida", device: "phone")
        let odd = CKRecord(recordType: "Hut")
        odd.setValue([NSNull()], forKey: "name")
        await #expect(throws: CKError(.invalidArguments)) {
            try await container.privateCloudDatabase.save(odd)
        }
        let sealed = CKRecord(recordType: "Hut")
        sealed.encryptedValues.setObject(
            CKRecord.Reference(recordID: odd.recordID, action: .none), forKey: "next")
        await #expect(throws: CKError(.invalidArguments)) {
            try await container.privateCloudDatabase.save(sealed)
        }
    }

    @Test("A query subscription without an occasion fails its save")
    func occasions() async throws {
        let container = try await TestCloud().container(
            "iCloud.org.example.Trails", user: "ida", device: "phone")
        let subscription = CKQuerySubscription(
            recordType: "Hut", predicate: NSPredicate(value: true), subscriptionID: "none",
            options: [])
        await #expect(throws: CKError(.invalidArguments)) {
            try await container.privateCloudDatabase.save(subscription)
        }
    }
}

extension Optional<ExitTest.Result> {
    /// Whether the process ended with a sentence.
    fileprivate func says(_ sentence: String) -> Bool {
        self.map { String(decoding: $0.standardErrorContent, as: UTF8.self).contains(sentence) }
            ?? false
    }
}
