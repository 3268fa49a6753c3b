import Foundation
import StratusClient
import StratusRecords
import StratusWire
import Testing

/// Code of Swift 3 and of iOS 14. It compiles with warnings that name the successors; the requirement of a
/// protocol keeps them out of this build.
private protocol OldCode {
    func names() -> [String]
    func modify(_ log: Log, alsoNew: Bool) -> CKModifyRecordsOperation
    func fetch(_ log: Log) -> CKFetchRecordsOperation
    func query(_ log: Log) -> CKQueryOperation
    func zoneChanges(_ log: Log) -> CKFetchRecordZoneChangesOperation
    func databaseChanges(_ log: Log) -> CKFetchDatabaseChangesOperation
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
            log.add("\((error as? CKError)?.code.rawValue ?? 0) \((partial as? CKError)?.code.rawValue ?? 0)")
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

@Suite struct OldBlocksTests {
    private let old: any OldCode = OldCodeInUse()

    @Test func oldNames() {
        #expect(old.names() == ["1", "2", "2", "11", "8", "_defaultZone", "0", "Users"])
    }

    /// Saves `a`, refuses `b`.
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

    @Test func resultSucceedsWhereTheOldCompletionTellsPartialFailure() async {
        let log = Log()
        await run(old.modify(log, alsoNew: false), on: half)
        #expect(log.all == ["old a true", "old b false", "result true", "done 1 0", "2 10"])
    }

    @Test func theNewRecordBlockSilencesTheOldOne() async {
        let log = Log()
        await run(old.modify(log, alsoNew: true), on: half)
        #expect(log.all == ["new a", "new b", "result true", "done 1 0", "2 10"])
    }

    @Test func fetch() async {
        let log = Log()
        await run(old.fetch(log), on: half)
        #expect(log.all == ["a true false", "b false true", "done 1 2"])
    }

    @Test func queryAndChanges() async {
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
                ChangesZone.Answer(zones: [
                    .page(.init(zoneID: zone, records: [served("b")], syncToken: "1", moreComing: false))
                ])
            })
        await run(
            old.databaseChanges(log),
            on: database { _, _ in
                ChangesDatabase.Answer(zones: [], syncToken: "1", moreComing: false)
            })
        #expect(
            log.all == [
                "a", "done true true", "b", "zone true false true", "done true", "done true false true",
            ])
    }
}
