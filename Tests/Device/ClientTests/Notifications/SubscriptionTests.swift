import Foundation
import StratusClient
import StratusTesting
import Testing

/// Subscriptions, saved several at a time and copied.
@Suite struct SubscriptionTests {
    private func query(_ format: String, _ identifier: String) -> CKQuerySubscription {
        CKQuerySubscription(
            recordType: "Hut", predicate: NSPredicate(format: format), subscriptionID: identifier)
    }

    @Test func unsupportedSubscriptionFailsAlone() async throws {
        let database = try await TestCloud().container(
            "iCloud.org.example.Trails", user: "ida", device: "phone"
        ).privateCloudDatabase
        try await database.save(CKDatabaseSubscription(subscriptionID: "old"))
        let results = try await database.modifySubscriptions(
            saving: [
                query("a == 1 OR b == 2", "either"), CKDatabaseSubscription(subscriptionID: "new"),
                query("FALSEPREDICATE", "nothing"),
            ], deleting: ["old"])
        let codes = results.saveResults.mapValues { result -> CKError.Code? in
            if case .failure(let error as CKError) = result { error.code } else { nil }
        }
        #expect(
            codes == ["either": .invalidArguments, "nothing": .invalidArguments, "new": nil])
        _ = try results.deleteResults["old"]?.get()
        #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["new"])
        await #expect(throws: CKError(.invalidArguments)) {
            try await database.save(query("a == 1 OR b == 2", "either"))
        }
    }

    @Test func subscriptionCopyHasOwnNotificationInfo() throws {
        let subscriptions: [CKSubscription] = [
            query("beds > 3", "query"), CKDatabaseSubscription(subscriptionID: "database"),
            CKRecordZoneSubscription(zoneID: trips, subscriptionID: "zone"),
        ]
        for subscription in subscriptions {
            subscription.notificationInfo = .init(alertBody: "before")
            let copy = try #require(subscription.copy() as? CKSubscription)
            #expect(copy == subscription && type(of: copy) == type(of: subscription))
            copy.notificationInfo?.alertBody = "after"
            #expect(subscription.notificationInfo?.alertBody == "before")
            #expect(copy.notificationInfo?.alertBody == "after")
        }
    }
}
