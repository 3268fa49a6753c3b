import Foundation
import StratusClient
import StratusTesting
import Testing

/// Options of operations and databases, and what they do.
@Suite struct SymbolOperationTests {
    @Test func archivedOperationGroupKeepsProperties() throws {
        let group = CKOperationGroup()
        group.name = "Sunday"
        group.quantity = 3
        group.expectedSendSize = .kilobytes
        group.expectedReceiveSize = .gigabytes
        let operation = CKFetchRecordsOperation()
        operation.group = group
        operation.longLivedOperationWasPersistedBlock = {}
        #expect(operation.group === group && !operation.operationID.isEmpty)
        #expect(operation.longLivedOperationWasPersistedBlock != nil)
        let again = try NSKeyedUnarchiver.unarchivedObject(
            ofClass: CKOperationGroup.self,
            from: NSKeyedArchiver.archivedData(withRootObject: group, requiringSecureCoding: true))
        #expect(again?.operationGroupID == group.operationGroupID && again?.name == "Sunday")
        #expect(again?.quantity == 3 && again?.expectedReceiveSize == .gigabytes)
        #expect(again?.expectedSendSize == .kilobytes)
    }

    @Test func zonesAreSavedFetchedAndDeletedInBatch() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let more = CKRecordZone.ID(zoneName: "More")
        let results = try await database.modifyRecordZones(
            saving: [CKRecordZone(zoneID: more)], deleting: [])
        #expect(try results.saveResults[more]?.get().zoneID == more)
        let zones = try await database.recordZones(for: [more, trips])
        #expect(try zones[more]?.get().capabilities.contains(.atomic) == true)
        #expect(zones.count == 2)
        let deleted = try await database.modifyRecordZones(saving: [], deleting: [more])
        #expect(deleted.deleteResults[more] != nil)
        #expect(try await !database.allRecordZones().map(\.zoneID).contains(more))
    }

    @Test func zoneDeletionCallsDeleteBlockOnly() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let log = Log()
        let modify = CKModifyRecordZonesOperation(
            recordZonesToSave: nil, recordZoneIDsToDelete: [trips])
        modify.perRecordZoneDeleteBlock = { zoneID, result in
            log.add("\(zoneID.zoneName) \((try? result.get()) != nil)")
        }
        await run(modify, on: database)
        let operation: CKDatabaseOperation = modify
        #expect(operation.database === database && log.all == ["Trips true"])
        let changes = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        changes.recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = { _ in log.add("no") }
        await run(changes, on: database)
        #expect(changes.previousServerChangeToken == nil && log.all == ["Trips true"])
    }

    @Test func subscriptionsAreSavedAndFetchedInBatch() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let results = try await database.modifySubscriptions(
            saving: [
                CKDatabaseSubscription(subscriptionID: "all"),
                CKRecordZoneSubscription(zoneID: trips, subscriptionID: "zone"),
            ], deleting: [])
        #expect(results.saveResults.count == 2)
        let found = try await database.subscriptions(for: ["all", "zone"])
        #expect(try found["zone"]?.get() is CKRecordZoneSubscription)
        #expect(try await database.deleteSubscription(withID: "zone") == "zone")
        let operation = CKFetchSubscriptionsOperation.fetchAllSubscriptionsOperation()
        let log = Log()
        operation.perSubscriptionResultBlock = { subscriptionID, _ in log.add(subscriptionID) }
        operation.fetchSubscriptionsResultBlock = { log.add("\((try? $0.get()) != nil)") }
        await run(operation, on: database)
        #expect(log.all == ["all", "true"])
    }

    @Test func changesCarryModificationsAndDeletions() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let before = try await database.databaseChanges(since: nil)
        let modification: CKDatabase.DatabaseChange.Modification? = before.modifications.first
        #expect(modification?.zoneID.zoneName == "Trips")
        let start = try await database.recordZoneChanges(inZoneWith: trips, since: nil)
        let first: CKDatabase.RecordZoneChange.Modification? =
            try start.modificationResultsByID.values.first?.get()
        #expect(first?.record.recordType == "Hut")
        try await database.deleteRecord(withID: hut("diary").recordID)
        let after = try await database.recordZoneChanges(
            inZoneWith: trips, since: start.changeToken)
        let gone: CKDatabase.RecordZoneChange.Deletion? = after.deletions.first
        #expect(gone?.recordID.recordName == "diary" && gone?.recordType == "Hut")
        try await database.deleteRecordZone(withID: trips)
        let end = try await database.databaseChanges(since: before.changeToken)
        let deletion: CKDatabase.DatabaseChange.Deletion? = end.deletions.first
        let reason: CKDatabase.DatabaseChange.Deletion.Reason? = deletion?.reason
        #expect(deletion?.zoneID.zoneName == "Trips" && reason == .deleted)
    }

    @Test func queryContinuesWithCursor() async throws {
        let trip = try await Trip()
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(value: true))
        let log = Log()
        let operation = CKQueryOperation(query: query)
        operation.zoneID = trips
        operation.resultsLimit = 2
        operation.desiredKeys = ["beds"]
        let cursor: CKQueryOperation.Cursor? = await withCheckedContinuation { continuation in
            operation.recordMatchedBlock = { recordID, _ in log.add(recordID.recordName) }
            operation.queryResultBlock = { continuation.resume(returning: try? $0.get()) }
            trip.ida.privateCloudDatabase.add(operation)
        }
        #expect(operation.zoneID == trips && operation.desiredKeys == ["beds"])
        let next = CKQueryOperation(cursor: try #require(cursor))
        #expect(next.cursor != nil && next.query == nil)
        next.recordMatchedBlock = { recordID, _ in log.add(recordID.recordName) }
        await run(next, on: trip.ida.privateCloudDatabase)
        #expect(log.all.sorted() == ["diary", "hut", "trail"])
    }
}
