import Foundation
import StratusClient
import StratusTesting
import Testing

/// Completion handlers that fetch, save and delete subscriptions.
@Suite struct SubscriptionCompletionHandlerTests {
    @Test func subscriptionHandlersGetSubscriptionOrItsID() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let subscription = CKDatabaseSubscription(subscriptionID: "all")
        let (saved, saveError) = await handled {
            database.save(subscription, completionHandler: $0)
        }
        #expect(saved?.subscriptionID == "all" && saveError == nil)
        let (fetched, fetchError) = await handled {
            database.fetch(withSubscriptionID: "all", completionHandler: $0)
        }
        #expect(fetched?.subscriptionID == "all" && fetchError == nil)
        let (all, listError) = await handled {
            database.fetchAllSubscriptions(completionHandler: $0)
        }
        #expect(all?.map(\.subscriptionID) == ["all"] && listError == nil)
        let (deleted, deleteError) = await handled {
            database.delete(withSubscriptionID: "all", completionHandler: $0)
        }
        #expect(deleted == "all" && deleteError == nil)
        let (gone, goneError) = await handled {
            database.fetch(withSubscriptionID: "all", completionHandler: $0)
        }
        #expect(gone == nil && (goneError as? CKError)?.code == .unknownItem)
    }

    @Test func subscriptionListHandlersGetResultForEachSubscription() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let subscription = CKRecordZoneSubscription(zoneID: trips, subscriptionID: "zone")
        let changes = try await handledResult {
            database.modifySubscriptions(
                saving: [subscription], deleting: [], completionHandler: $0)
        }
        #expect(try changes.saveResults["zone"]?.get().subscriptionID == "zone")
        #expect(changes.deleteResults.isEmpty)
        let found = try await handledResult {
            database.fetch(withSubscriptionIDs: ["zone", "none"], completionHandler: $0)
        }
        #expect(try found["zone"]?.get() is CKRecordZoneSubscription)
        #expect((found["none"]?.failure as? CKError)?.code == .unknownItem)
    }
}
