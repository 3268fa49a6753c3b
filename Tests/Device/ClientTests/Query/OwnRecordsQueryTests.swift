import Foundation
import StratusClient
import StratusTesting
import Testing

/// Queries for the user's own records, by the name that CloudKit gives to the current user.
@Suite struct OwnRecordsQueryTests {
    @Test(arguments: ["creatorUserRecordID", "lastModifiedUserRecordID", "___createdBy"])
    func currentUserNameFindsOwnRecords(_ key: String) async throws {
        let cloud = TestCloud()
        func container(_ user: String) async throws -> CKContainer {
            try await cloud.container("iCloud.org.example.Trails", user: user, device: user)
        }
        let (ida, bo) = (try await container("ida"), try await container("bo"))
        let me = CKRecord.ID(recordName: CKCurrentUserDefaultName)
        for (person, name) in [(ida, "i"), (bo, "b")] {
            try await person.publicCloudDatabase.save(
                CKRecord(recordType: "Hut", recordID: CKRecord.ID(recordName: name)))
        }
        func names(_ predicate: NSPredicate, _ person: CKContainer) async throws -> [String] {
            let query = CKQuery(recordType: "Hut", predicate: predicate)
            let page = try await person.publicCloudDatabase.records(matching: query)
            // The app's own evaluation of the predicate agrees.
            for record in try page.matchResults.map({ try $0.1.get() }) {
                #expect(predicate.evaluate(with: record))
            }
            return page.matchResults.map(\.0.recordName)
        }
        let own = NSPredicate(format: "%K == %@", key, me)
        #expect(try await names(own, ida) == ["i"])
        #expect(try await names(own, bo) == ["b"])
        #expect(try await names(NSPredicate(format: "%K != %@", key, me), ida) == ["b"])
        let someone = [CKRecord.Reference(recordID: me, action: .none)]
        #expect(try await names(NSPredicate(format: "%K IN %@", key, someone), bo) == ["b"])
    }

    @Test func subscriptionToOwnRecordsNotifiesOnlyOfThem() async throws {
        let cloud = TestCloud()
        func container(_ user: String, _ device: String) async throws -> CKContainer {
            try await cloud.container("iCloud.org.example.Trails", user: user, device: device)
        }
        let (phone, tablet) = (
            try await container("ida", "phone"), try await container("ida", "tablet")
        )
        let bo = try await container("bo", "bo")
        let me = CKRecord.ID(recordName: CKCurrentUserDefaultName)
        _ = try await phone.publicCloudDatabase.save(
            CKQuerySubscription(
                recordType: "Hut", predicate: NSPredicate(format: "creatorUserRecordID == %@", me),
                subscriptionID: "own", options: .firesOnRecordCreation))
        var events = phone.connection.remoteNotifications(container: "iCloud.org.example.Trails")
            .makeAsyncIterator()
        guard case .listening = await events.next() else {
            Issue.record("The channel did not open.")
            return
        }
        for (person, name) in [(bo, "b"), (tablet, "i")] {
            try await person.publicCloudDatabase.save(
                CKRecord(recordType: "Hut", recordID: CKRecord.ID(recordName: name)))
        }
        guard case .notification(let notification) = await events.next() else {
            Issue.record("The notification did not come.")
            return
        }
        let query = CKNotification(fromRemoteNotificationDictionary: notification.userInfo)
        #expect((query as? CKQueryNotification)?.recordID?.recordName == "i")
    }
}
