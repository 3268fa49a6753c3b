import Foundation
import StratusClient
import StratusRecords
import StratusWire
import Testing

/// Code of Swift 3 and of iOS 14. It compiles with warnings that name the successors; the
/// requirement of a protocol keeps them out of this build.
private protocol OldCode {
    func names() -> [String]
    func modify(_ log: Log, alsoNew: Bool) -> CKModifyRecordsOperation
    func fetch(_ log: Log) -> CKFetchRecordsOperation
    func query(_ log: Log) -> CKQueryOperation
    func zoneChanges(_ log: Log) -> CKFetchRecordZoneChangesOperation
    func databaseChanges(_ log: Log) -> CKFetchDatabaseChangesOperation
    func partial(_ log: Log) -> [CKDatabaseOperation]
}

private struct OldCodeInUse: OldCode {
    @available(*, deprecated)
    func names() -> [String] {
        let recordID = CKRecordID(
            recordName: "a", zoneID: CKRecordZoneID(zoneName: "Z", ownerName: CKOwnerDefaultName))
        let reference = CKReference(recordID: recordID, action: CKReferenceAction.deleteSelf)
        let policy: CKRecordSavePolicy = .allKeys
        let scope: CKDatabaseScope = .private
        let code: CKErrorCode = .unknownItem
        let options: CKQuerySubscriptionOptions = [.firesOnce]
        let info = CKNotificationInfo()
        let configuration = CKOperationConfiguration()
        configuration.isLongLived = true
        info.alertBody = "x"
        return [
            "\(reference.referenceAction.rawValue)", "\(policy.rawValue)", "\(scope.rawValue)",
            "\(code.rawValue)", "\(options.rawValue)", CKRecordZoneDefaultName,
            "\(CKQueryOperationMaximumResults)", CKRecordTypeUserRecord,
        ]
    }

    @available(*, deprecated)
    func modify(_ log: Log, alsoNew: Bool) -> CKModifyRecordsOperation {
        let operation = CKModifyRecordsOperation(
            recordsToSave: [hut("a"), hut("b")], recordIDsToDelete: nil)
        operation.perRecordCompletionBlock = { record, error in
            log.add("old \(record.recordID.recordName) \(error == nil)")
        }
        if alsoNew {
            operation.perRecordSaveBlock = { recordID, _ in log.add("new \(recordID.recordName)") }
        }
        operation.modifyRecordsResultBlock = { log.add("result \((try? $0.get()) != nil)") }
        operation.modifyRecordsCompletionBlock = { saved, deleted, error in
            let partial = (error as? CKError)?.partialErrorsByItemID?[hut("b").recordID]
            log.add("done \(saved?.count ?? -1) \(deleted?.count ?? -1)")
            log.add(
                "\((error as? CKError)?.code.rawValue ?? 0) \((partial as? CKError)?.code.rawValue ?? 0)"
            )
        }
        return operation
    }

    @available(*, deprecated)
    func fetch(_ log: Log) -> CKFetchRecordsOperation {
        let operation = CKFetchRecordsOperation(recordIDs: [hut("a").recordID, hut("b").recordID])
        operation.perRecordCompletionBlock = { record, recordID, error in
            log.add("\(recordID?.recordName ?? "-") \(record != nil) \(error != nil)")
        }
        operation.fetchRecordsCompletionBlock = { records, error in
            log.add("done \(records?.count ?? -1) \((error as? CKError)?.code.rawValue ?? 0)")
        }
        return operation
    }

    @available(*, deprecated)
    func query(_ log: Log) -> CKQueryOperation {
        let operation = CKQueryOperation(
            query: CKQuery(recordType: "Hut", predicate: NSPredicate(value: true)))
        operation.recordFetchedBlock = { log.add($0.recordID.recordName) }
        operation.queryCompletionBlock = { cursor, error in
            log.add("done \(cursor != nil) \(error == nil)")
        }
        return operation
    }

    @available(*, deprecated)
    func zoneChanges(_ log: Log) -> CKFetchRecordZoneChangesOperation {
        let options = CKFetchRecordZoneChangesOptions()
        options.resultsLimit = 5
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [trips], optionsByRecordZoneID: [trips: options])
        operation.recordChangedBlock = { log.add($0.recordID.recordName) }
        operation.recordZoneFetchCompletionBlock = { _, token, _, more, error in
            log.add("zone \(token != nil) \(more) \(error == nil)")
        }
        operation.fetchRecordZoneChangesCompletionBlock = { log.add("done \($0 == nil)") }
        return operation
    }

    @available(*, deprecated)
    func databaseChanges(_ log: Log) -> CKFetchDatabaseChangesOperation {
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        operation.fetchDatabaseChangesCompletionBlock = { token, more, error in
            log.add("done \(token != nil) \(more) \(error == nil)")
        }
        return operation
    }
}

extension OldCodeInUse {
    /// Operations on an existing item and a missing one, with old and new blocks at the end.
    @available(*, deprecated)
    func partial(_ log: Log) -> [CKDatabaseOperation] {
        @Sendable func note(_ count: Int?, _ error: (any Error)?) {
            let error = error as? CKError
            let items = error?.partialErrorsByItemID?.keys.map { key in
                (key.base as? CKRecordZone.ID)?.zoneName ?? key.base as? String ?? "?"
            }
            log.add("old \(count ?? -1) \(error?.code.rawValue ?? 0) \(items ?? [])")
        }
        @Sendable func note(_ result: Result<Void, any Error>) {
            log.add("new \((try? result.get()) != nil)")
        }
        let other = CKRecordZone.ID(zoneName: "b")
        let zones = CKFetchRecordZonesOperation(recordZoneIDs: [trips, other])
        zones.fetchRecordZonesCompletionBlock = { note($0?.count, $1) }
        zones.fetchRecordZonesResultBlock = { note($0) }
        let saving = CKModifyRecordZonesOperation(
            recordZonesToSave: [CKRecordZone(zoneID: trips), CKRecordZone(zoneID: other)])
        saving.modifyRecordZonesCompletionBlock = { saved, _, error in note(saved?.count, error) }
        saving.modifyRecordZonesResultBlock = { note($0) }
        let subscriptions = CKFetchSubscriptionsOperation(subscriptionIDs: ["a", "b"])
        subscriptions.fetchSubscriptionCompletionBlock = { note($0?.count, $1) }
        subscriptions.fetchSubscriptionsResultBlock = { note($0) }
        let subscribing = CKModifySubscriptionsOperation(
            subscriptionsToSave: [
                CKDatabaseSubscription(subscriptionID: "a"),
                CKDatabaseSubscription(subscriptionID: "b"),
            ])
        subscribing.modifySubscriptionsCompletionBlock = { saved, _, error in
            note(saved?.count, error)
        }
        subscribing.modifySubscriptionsResultBlock = { note($0) }
        let changes = CKFetchRecordZoneChangesOperation(recordZoneIDs: [trips, other])
        changes.fetchRecordZoneChangesCompletionBlock = { note(nil, $0) }
        changes.fetchRecordZoneChangesResultBlock = { note($0) }
        return [zones, saving, subscriptions, subscribing, changes]
    }
}

@Suite struct DeprecatedBlockTests {
    private let old: any OldCode = OldCodeInUse()

    @Test func deprecatedNamesKeepValues() {
        #expect(old.names() == ["1", "2", "2", "11", "8", "_defaultZone", "0", "Users"])
    }

    /// Saves `a` and refuses `b`.
    private var half: CKDatabase {
        database { request, _ in
            if request is RecordsModify.Request {
                return RecordsModify.Answer(records: [
                    served("a"), refused("b", ServiceError(.accessDenied, "no")),
                ])
            }
            return RecordsLookup.Answer(records: [
                served("a"), refused("b", ServiceError(.notFound, "none")),
            ])
        }
    }

    @Test func onlyDeprecatedCompletionReportsPartialFailure() async {
        let log = Log()
        await run(old.modify(log, alsoNew: false), on: half)
        #expect(log.all == ["old a true", "old b false", "result true", "done 1 0", "2 10"])
    }

    @Test func perRecordSaveBlockReplacesDeprecatedBlock() async {
        let log = Log()
        await run(old.modify(log, alsoNew: true), on: half)
        #expect(log.all == ["new a", "new b", "result true", "done 1 0", "2 10"])
    }

    @Test func deprecatedFetchBlocksReportEachRecord() async {
        let log = Log()
        await run(old.fetch(log), on: half)
        #expect(log.all == ["a true false", "b false true", "done 1 2"])
    }

    @Test func deprecatedQueryAndChangesBlocksAreCalled() async {
        let log = Log()
        await run(
            old.query(log),
            on: database { _, _ in
                RecordsQuery.Answer(records: [served("a")], continuationMarker: "m")
            })
        let zone = ZoneIDDictionary(zoneName: "Trips")
        await run(
            old.zoneChanges(log),
            on: database { _, _ in
                ChangesZone.Answer([
                    .success(
                        .init(
                            zoneID: zone, records: [served("b")], syncToken: "1", moreComing: false)
                    )
                ])
            })
        await run(
            old.databaseChanges(log),
            on: database { _, _ in
                ChangesDatabase.Answer(zones: [], syncToken: "1", moreComing: false)
            })
        #expect(
            log.all == [
                "a", "done true true", "b", "zone true false true", "done true",
                "done true false true",
            ])
    }

    /// Serves the first item of a request and refuses the second.
    @Sendable private static func half(_ request: any Sendable) -> any Sendable {
        let zone = ZoneResult.success(ZoneDictionary(zoneID: ZoneIDDictionary(zoneName: "Trips")))
        let gone = ZoneFailure(
            zoneID: ZoneIDDictionary(zoneName: "b"), error: ServiceError(.zoneNotFound, "none"))
        let subscription = SubscriptionResult.subscription(
            SubscriptionDictionary(subscriptionID: "a", kind: .database))
        let missing = SubscriptionResult.failure(
            subscriptionID: "b", ServiceError(.notFound, "none"))
        switch request {
        case is ZonesLookup.Request: return ZonesLookup.Answer([zone, .failure(gone)])
        case is ZonesModify.Request: return ZonesModify.Answer([zone, .failure(gone)])
        case is SubscriptionsLookup.Request:
            return SubscriptionsLookup.Answer([subscription, missing])
        case is SubscriptionsModify.Request:
            return SubscriptionsModify.Answer([subscription, missing])
        default:
            return ChangesZone.Answer([
                .success(
                    .init(
                        zoneID: ZoneIDDictionary(zoneName: "Trips"), records: [], syncToken: "1",
                        moreComing: false)), .failure(gone),
            ])
        }
    }

    @Test("Only the deprecated completion blocks report partial failures", arguments: 0..<5)
    func deprecatedCompletionListsFailedItems(_ place: Int) async {
        let log = Log()
        await run(old.partial(log)[place], on: database { request, _ in Self.half(request) })
        #expect(log.all == ["new true", "old \(place == 4 ? -1 : 1) 2 [\"b\"]"])
    }

    @Test("A failure of the request reaches deprecated and current blocks", arguments: 0..<5)
    func requestFailureReachesOldAndNewBlocks(_ place: Int) async {
        let log = Log()
        await run(
            old.partial(log)[place],
            on: database { _, _ in throw TransportError(.refused, "down") })
        #expect(log.all == ["new false", "old \(place == 4 ? -1 : 0) 4 []"])
    }
}
