import CloudKit
import Foundation
import StratusTesting
import Testing

/// What existing apps do with subscriptions, and with the pushes that they cause.
@Suite(.timeLimit(.minutes(20))) struct SubscriptionCodeTests {
    private static let notes = "iCloud.org.example.Notes"
    private let cloud = TestCloud()
    private let zoneID = CKRecordZone.ID(zoneName: "Notes")

    private func container(_ device: String) async throws -> CKContainer {
        try await cloud.container(Self.notes, user: "ida", device: device)
    }

    private func urgent(_ options: CKQuerySubscription.Options) -> CKQuerySubscription {
        let subscription = CKQuerySubscription(
            recordType: "Note", predicate: NSPredicate(format: "urgency > %d", 3),
            subscriptionID: "urgent-notes", options: options)
        let info = CKSubscription.NotificationInfo()
        info.titleLocalizationKey = "NEW_NOTE"
        info.titleLocalizationArgs = ["title"]
        info.alertBody = "A note is urgent."
        info.soundName = "default"
        info.shouldBadge = true
        info.shouldSendContentAvailable = true
        info.category = "note"
        info.desiredKeys = ["title", "urgency"]
        subscription.notificationInfo = info
        return subscription
    }

    @Test func querySubscriptionsAreSavedListedAndDeleted() async throws {
        let database = try await container("phone").privateCloudDatabase
        let subscription = urgent([.firesOnRecordCreation, .firesOnRecordUpdate])
        subscription.zoneID = .default
        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: [subscription], subscriptionIDsToDelete: [])
        operation.qualityOfService = .utility
        try await withCheckedThrowingContinuation { continuation in
            operation.modifySubscriptionsResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
        // At each launch, only missing subscriptions are created.
        let listed = try await database.allSubscriptions()
        #expect(listed.map(\.subscriptionID) == ["urgent-notes"])
        let read = try #require(listed.first as? CKQuerySubscription)
        #expect(read.recordType == "Note" && read.subscriptionType == .query)
        #expect(read.querySubscriptionOptions == [.firesOnRecordCreation, .firesOnRecordUpdate])
        #expect(!read.querySubscriptionOptions.contains(.firesOnce))
        #expect(read.predicate.description == "urgency > 3" && read.zoneID == .default)
        #expect(read.notificationInfo?.desiredKeys == ["title", "urgency"])
        #expect(read.notificationInfo?.titleLocalizationArgs == ["title"])
        #expect(read.notificationInfo?.shouldSendContentAvailable == true)
        let one = try await database.subscription(for: "urgent-notes")
        #expect(one == read)

        let deleted = await withCheckedContinuation { continuation in
            database.delete(withSubscriptionID: "urgent-notes") { id, _ in
                continuation.resume(returning: id)
            }
        }
        #expect(deleted == "urgent-notes")
        await #expect(throws: CKError(.unknownItem)) {
            try await database.subscription(for: "urgent-notes")
        }
        #expect(try await database.allSubscriptions().isEmpty)
    }

    /// The first push that a device gets, as its app delegate gets it.
    private func userInfo(
        on device: String, after change: () async throws -> Void
    ) async throws -> [AnyHashable: Any] {
        let connection = try await container(device).connection
        for await event in connection.remoteNotifications(container: Self.notes) {
            switch event {
            case .listening: try await change()
            case .notification(let push): return push.userInfo
            }
        }
        throw CKError(.operationCancelled)
    }

    @Test func pushOfAQueryNamesItsRecord() async throws {
        let database = try await container("phone").privateCloudDatabase
        _ = try await database.save(urgent([.firesOnRecordCreation]))
        let calm = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "calm"))
        calm["urgency"] = 1
        let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note-1"))
        note["title"] = "Milk"
        note["urgency"] = 5
        let userInfo = try await userInfo(on: "tablet") {
            _ = try await database.save(calm)
            _ = try await database.save(note)
        }
        let notification = try #require(
            CKNotification(fromRemoteNotificationDictionary: userInfo))
        #expect(notification.notificationType == .query)
        #expect(notification.subscriptionID == "urgent-notes" && !notification.isPruned)
        #expect(notification.containerIdentifier == Self.notes)
        #expect(notification.alertBody == "A note is urgent.")
        #expect(notification.titleLocalizationKey == "NEW_NOTE")
        #expect(notification.titleLocalizationArgs?.count == 1)
        #expect(notification.soundName == "default" && notification.category == "note")
        let query = try #require(notification as? CKQueryNotification)
        #expect(query.recordID == note.recordID && query.databaseScope == .private)
        #expect(query.recordFields?["title"] as? String == "Milk")
        #expect(query.recordFields?["urgency"] as? Int == 5)
        switch query.queryNotificationReason {
        case .recordCreated: break
        case .recordUpdated, .recordDeleted: Issue.record("the record is new")
        @unknown default: break
        }
    }

    /// How an app delegate decides what to fetch.
    private func route(_ userInfo: [AnyHashable: Any]) -> String {
        guard let notification = CKNotification(fromRemoteNotificationDictionary: userInfo) else {
            return "no push of CloudKit"
        }
        switch notification.notificationType {
        case .database:
            let scope = (notification as? CKDatabaseNotification)?.databaseScope
            return scope == .shared ? "shared" : "private"
        case .recordZone:
            return (notification as? CKRecordZoneNotification)?.recordZoneID?.zoneName ?? "zone"
        case .query: return (notification as? CKQueryNotification)?.recordID?.recordName ?? "query"
        case .readNotification: return "read"
        @unknown default: return "unknown"
        }
    }

    @Test func pushesOfZonesAndDatabasesAreRouted() async throws {
        let database = try await container("phone").privateCloudDatabase
        _ = try await database.save(CKRecordZone(zoneID: zoneID))
        let note = CKRecord(
            recordType: "Note", recordID: CKRecord.ID(recordName: "a", zoneID: zoneID))
        let silent = CKSubscription.NotificationInfo()
        silent.shouldSendContentAvailable = true
        for subscription in [
            CKDatabaseSubscription(subscriptionID: "private-changes"),
            CKRecordZoneSubscription(zoneID: zoneID, subscriptionID: "notes-changes"),
        ] as [CKSubscription] {
            subscription.notificationInfo = silent
            _ = try await database.save(subscription)
            let userInfo = try await userInfo(on: "tablet") {
                note["title"] = subscription.subscriptionID
                _ = try await database.save(note)
            }
            #expect(
                route(userInfo) == (subscription is CKDatabaseSubscription ? "private" : "Notes"))
            #expect(
                CKNotification(fromRemoteNotificationDictionary: userInfo)?.subscriptionID
                    == subscription.subscriptionID)
            #expect((userInfo["aps"] as? [String: Any])?["content-available"] as? Int == 1)
            // The subclasses accept only their own kinds of pushes.
            #expect(CKQueryNotification(fromRemoteNotificationDictionary: userInfo) == nil)
            #expect(
                (CKDatabaseNotification(fromRemoteNotificationDictionary: userInfo) != nil)
                    == (subscription is CKDatabaseSubscription))
            _ = try await database.deleteSubscription(withID: subscription.subscriptionID)
        }
    }

    /// Dictionaries that apps' tests write themselves, in the format of Apple's push service.
    @Test func handWrittenPushDictionariesAreRead() {
        let pruned: [AnyHashable: Any] = [
            "aps": ["content-available": 1],
            "ck": [
                "ce": 2, "cid": Self.notes, "nid": "3e7a", "p": 1,
                "qry": ["rid": "note-1", "zid": "_defaultZone", "fo": 3, "dbs": 1, "sid": "q"]
                    as [String: Any],
            ] as [String: Any],
        ]
        let query = CKQueryNotification(fromRemoteNotificationDictionary: pruned)
        #expect(query?.queryNotificationReason == .recordDeleted && query?.isPruned == true)
        #expect(query?.databaseScope == .public && query?.recordFields == nil)
        #expect(query?.notificationID != nil && route(pruned) == "note-1")
        #expect(
            route(["ck": ["met": ["dbs": 3, "sid": "s"] as [String: Any]] as [String: Any]])
                == "shared")
        #expect(route(["aps": ["alert": "Hello"]]) == "no push of CloudKit")
        #expect(CKRecordZoneNotification(fromRemoteNotificationDictionary: pruned) == nil)
    }
}
