import Foundation
import StratusRecords
import StratusWire
import Testing

@testable import StratusClient

/// Queries, zones, changes and subscriptions: order of callbacks, loops and paging.
@Suite struct FetchTests {
    @Test func queryPagesFollowCursor() async throws {
        let transport = ScriptedTransport { request, _ in
            (request as? RecordsQuery.Request)?.continuationMarker == nil
                ? RecordsQuery.Answer(records: [served("a"), served("b")], continuationMarker: "m")
                : RecordsQuery.Answer(records: [served("c")])
        }
        let database = container(transport).privateCloudDatabase
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(format: "beds > 1"))
        let first = try await database.records(
            matching: query, inZoneWith: trips, desiredKeys: [], resultsLimit: 2)
        #expect(first.matchResults.map(\.0.recordName) == ["a", "b"])
        let archived = try NSKeyedArchiver.archivedData(
            withRootObject: try #require(first.queryCursor), requiringSecureCoding: true)
        let cursor = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQueryCursor.self, from: archived))
        let second = try await database.records(continuingMatchFrom: cursor)
        #expect(second.matchResults.map(\.0.recordName) == ["c"] && second.queryCursor == nil)
        let requests = transport.requests(RecordsQuery.Request.self)
        #expect(requests.map(\.continuationMarker) == [nil, "m"])
        #expect(requests[0].query == requests[1].query && requests[1].zoneID?.zoneName == "Trips")
        #expect(requests[0].resultsLimit == 2 && requests[0].desiredKeys == [])
        #expect(!requests[0].isZoneWide && requests[1].resultsLimit == nil)
    }

    @Test func queryWithoutZoneIsZoneWide() async throws {
        let transport = ScriptedTransport { _, _ in RecordsQuery.Answer(records: []) }
        let container = container(transport)
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(value: true))
        _ = try await container.privateCloudDatabase.records(matching: query)
        _ = try await container.publicCloudDatabase.records(matching: query)
        #expect(transport.requests(RecordsQuery.Request.self).map(\.isZoneWide) == [true, false])
        await #expect(throws: CKError(.invalidArguments)) {
            _ = try await container.sharedCloudDatabase.records(matching: query)
        }
    }

    @Test func fetchedRecordDecodesEveryValueType() async throws {
        let fields: [Field] = [
            Field(name: "s", value: .string("x")), Field(name: "i", value: .int64(5)),
            Field(name: "d", value: .double(2)),
            Field(name: "t", value: .timestamp(milliseconds: 1_500)),
            Field(name: "b", value: .bytes([1])), Field(name: "l", value: .stringList(["a"])),
            Field(
                name: "r",
                value: .reference(
                    Reference(recordName: "q", zoneID: ZoneID(name: "Trips", ownerName: "_ida")))),
            Field(name: "rs", value: .referenceList([Reference(recordName: "q")])),
        ]
        let database = database { _, _ in
            RecordsLookup.Answer(records: [
                .record(
                    RecordDictionary(
                        recordName: "a", recordType: "Hut", recordChangeTag: "1",
                        fields: .encoded(RecordFields.values(fields).encoded())))
            ])
        }
        let record = try await database.record(for: hut("a").recordID)
        #expect(record.recordID == hut("a").recordID)
        #expect(record["s"] as? String == "x" && record["i"] as? Int == 5)
        #expect(record["d"] as? Double == 2 && record["b"] as? Data == Data([1]))
        #expect(record["t"] as? Date == Date(timeIntervalSince1970: 1.5))
        #expect(record["l"] as? [String] == ["a"])
        let reference = record["r"] as? CKRecord.Reference
        #expect(reference?.recordID == CKRecord.ID(recordName: "q", zoneID: trips))
        #expect((record["rs"] as? [CKRecord.Reference])?.first?.recordID == reference?.recordID)
        #expect(record.changedKeys().isEmpty)
        record["s"] = nil
        #expect(record.changedKeys() == ["s"])
    }

    @Test func zoneOperationsReportEachZone() async throws {
        let mine = ZoneIDDictionary(zoneName: "Trips", ownerRecordName: "_ida")
        let database = database { request, _ in
            let failure = ZoneFailure(zoneID: mine, error: ServiceError(.notFound, "none"))
            return request is ZonesModify.Request || request is ZonesList.Request
                ? ZonesList.Answer([.success(ZoneDictionary(zoneID: mine, isAtomic: true))])
                : ZonesList.Answer([.failure(failure)])
        }
        let zone = try await database.save(CKRecordZone(zoneName: "Trips"))
        #expect(zone.zoneID == trips)
        #expect(zone.capabilities == [.fetchChanges, .atomic, .sharing, .zoneWideSharing])
        #expect(try await database.allRecordZones().map(\.zoneID) == [trips])
        await #expect(throws: CKError(.zoneNotFound)) { try await database.recordZone(for: trips) }
        let container = container(ScriptedTransport { _, _ in EmptyBody() })
        await #expect(throws: CKError(.badDatabase)) {
            try await container.publicCloudDatabase.save(CKRecordZone(zoneName: "Trips"))
        }
        let log = Log()
        let operation = CKModifyRecordZonesOperation(
            recordZonesToSave: [CKRecordZone(zoneName: "Trips")])
        operation.perRecordZoneSaveBlock = { zoneID, _ in log.add(zoneID.zoneName) }
        operation.modifyRecordZonesResultBlock = { _ in log.add("result") }
        await run(operation, on: database)
        let fetch = CKFetchRecordZonesOperation.fetchAllRecordZonesOperation()
        fetch.perRecordZoneResultBlock = { zoneID, _ in log.add(zoneID.zoneName) }
        fetch.fetchRecordZonesResultBlock = { _ in log.add("result") }
        await run(fetch, on: database)
        #expect(log.all == ["Trips", "result", "Trips", "result"])
    }

    @Test(arguments: [true, false])
    func databaseChangesReportChangedAndPurgedZones(_ all: Bool) async {
        let transport = ScriptedTransport { request, _ in
            let first = (request as? ChangesDatabase.Request)?.syncToken == nil
            let purged = ZoneDictionary(
                zoneID: ZoneIDDictionary(zoneName: "Old"), isDeleted: true, deletionReason: "purged"
            )
            let changed = ZoneDictionary(zoneID: ZoneIDDictionary(zoneName: "Trips"))
            return ChangesDatabase.Answer(
                zones: [.success(first ? changed : purged)], syncToken: first ? "1" : "2",
                moreComing: first)
        }
        let log = Log()
        let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        operation.fetchAllChanges = all
        operation.recordZoneWithIDChangedBlock = { log.add("changed \($0.zoneName)") }
        operation.recordZoneWithIDWasDeletedBlock = { log.add("deleted \($0.zoneName)") }
        operation.recordZoneWithIDWasPurgedBlock = { log.add("purged \($0.zoneName)") }
        operation.changeTokenUpdatedBlock = { _ in log.add("token") }
        operation.fetchDatabaseChangesResultBlock = { result in
            log.add("result \((try? result.get())?.moreComing as Any)")
        }
        await run(operation, on: container(transport).privateCloudDatabase)
        #expect(
            log.all
                == (all
                    ? ["changed Trips", "token", "purged Old", "result Optional(false)"]
                    : ["changed Trips", "result Optional(true)"]))
    }

    private static func page(
        _ zone: String, _ records: [RecordResult], _ token: String, more: Bool
    ) -> ChangesZone.Result {
        .success(
            .init(
                zoneID: ZoneIDDictionary(zoneName: zone), records: records, syncToken: token,
                moreComing: more))
    }

    @Test func zoneChangesAreReportedZoneByZone() async {
        let transport = ScriptedTransport { request, _ in
            let items = (request as? ChangesZone.Request)?.zones ?? []
            return ChangesZone.Answer(
                items.map { item in
                    switch (item.zoneID.zoneName, item.syncToken) {
                    case ("A", nil): Self.page("A", [served("a1", zone: "A")], "1", more: true)
                    case ("A", _):
                        Self.page(
                            "A", [.deleted(.init(recordName: "a0", recordType: "Hut"))], "2",
                            more: false)
                    case ("B", _): Self.page("B", [served("b1", zone: "B")], "3", more: false)
                    default:
                        .failure(
                            ZoneFailure(
                                zoneID: item.zoneID, error: ServiceError(.zoneNotFound, "none")))
                    }
                })
        }
        let log = Log()
        let zoneIDs = ["A", "B", "C"].map { CKRecordZone.ID(zoneName: $0) }
        let operation = CKFetchRecordZoneChangesOperation(recordZoneIDs: zoneIDs)
        operation.recordWasChangedBlock = { recordID, _ in log.add(recordID.recordName) }
        operation.recordWithIDWasDeletedBlock = { log.add("deleted \($0.recordName) \($1)") }
        operation.recordZoneChangeTokensUpdatedBlock = { zoneID, _, _ in
            log.add("token \(zoneID.zoneName)")
        }
        operation.recordZoneFetchResultBlock = { zoneID, result in
            log.add("zone \(zoneID.zoneName) \((try? result.get())?.moreComing as Any)")
        }
        operation.fetchRecordZoneChangesResultBlock = {
            log.add("result \((try? $0.get()) != nil)")
        }
        await run(operation, on: container(transport).privateCloudDatabase)
        #expect(
            log.all == [
                "a1", "token A", "deleted a0 Hut", "zone A Optional(false)", "b1",
                "zone B Optional(false)", "zone C nil", "result true",
            ])
        #expect(transport.requests(ChangesZone.Request.self).map(\.zones.count) == [3, 1])
    }

    @Test("A record that cannot be read fails alone, and one without a name only its zone")
    func unreadableRecordFailsAlone() async throws {
        let bad = RecordResult.record(
            RecordDictionary(
                recordName: "bad", recordType: "Hut", fields: .encoded(Array("[".utf8))))
        let phone = database { request, _ in
            if request is RecordsQuery.Request {
                return RecordsQuery.Answer(records: [bad, served("a")])
            }
            return ChangesZone.Answer([
                Self.page("A", [bad, served("a", zone: "A")], "1", more: false),
                Self.page("B", [.record(RecordDictionary(recordType: "Hut"))], "2", more: false),
                Self.page("C", [served("c", zone: "C")], "3", more: false),
            ])
        }
        let log = Log()
        let operation = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: ["A", "B", "C"].map { CKRecordZone.ID(zoneName: $0) })
        operation.recordWasChangedBlock = { recordID, result in
            log.add("\(recordID.recordName) \(result.success != nil)")
        }
        operation.recordZoneFetchResultBlock = { zoneID, result in
            log.add("zone \(zoneID.zoneName) \(result.success != nil)")
        }
        operation.fetchRecordZoneChangesResultBlock = { log.add("result \($0.success != nil)") }
        await run(operation, on: phone)
        #expect(
            log.all == [
                "bad false", "a true", "zone A true", "zone B false", "c true", "zone C true",
                "result true",
            ])

        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(value: true))
        let page = try await phone.records(matching: query, inZoneWith: trips, resultsLimit: 2)
        #expect(page.matchResults.map { $0.0.recordName } == ["bad", "a"])
        #expect(page.matchResults.map { $0.1.success != nil } == [false, true])
    }

    @Test func fetchWithoutAllChangesStopsAfterOnePage() async {
        let database = database { _, _ in
            ChangesZone.Answer([Self.page("Trips", [served("a")], "1", more: true)])
        }
        let log = Log()
        let operation = CKFetchRecordZoneChangesOperation(
            configurationsByRecordZoneID: [trips: .init(resultsLimit: 1)])
        operation.fetchAllChanges = false
        operation.recordZoneChangeTokensUpdatedBlock = { _, _, _ in log.add("token") }
        operation.recordZoneFetchResultBlock = { _, result in
            log.add("zone \((try? result.get())?.moreComing as Any)")
        }
        await run(operation, on: database)
        #expect(log.all == ["zone Optional(true)"])
    }

    @Test func publicDatabaseRefusesDatabaseChanges() async {
        let container = container(ScriptedTransport { _, _ in EmptyBody() })
        await #expect(throws: CKError(.invalidArguments)) {
            _ = try await container.publicCloudDatabase.databaseChanges(since: nil)
        }
    }

    @Test func subscriptionsRoundTripOverWire() async throws {
        let transport = ScriptedTransport { request, _ in
            let operations = (request as? SubscriptionsModify.Request)?.items ?? []
            return SubscriptionsList.Answer(
                operations.map { operation in
                    operation.kind == .delete
                        ? .deleted(subscriptionID: operation.subscription.subscriptionID ?? "")
                        : .subscription(operation.subscription)
                })
        }
        let query = CKQuerySubscription(
            recordType: "Hut", predicate: NSPredicate(format: "beds > 3 AND NOT tags CONTAINS 'x'"),
            subscriptionID: "q", options: [.firesOnRecordUpdate, .firesOnce])
        let database = CKDatabaseSubscription(subscriptionID: "d")
        database.recordType = "Hut"
        database.notificationInfo = .init(shouldSendContentAvailable: true)
        let zone = CKRecordZoneSubscription(zoneID: trips, subscriptionID: "z")
        let log = Log()
        let operation = CKModifySubscriptionsOperation(
            subscriptionsToSave: [query, database, zone], subscriptionIDsToDelete: ["old"])
        operation.perSubscriptionSaveBlock = { identifier, _ in log.add(identifier) }
        operation.perSubscriptionDeleteBlock = { identifier, _ in log.add("deleted \(identifier)") }
        operation.modifySubscriptionsResultBlock = { log.add("result \((try? $0.get()) != nil)") }
        await run(operation, on: container(transport).privateCloudDatabase)
        #expect(log.all == ["q", "d", "z", "deleted old", "result true"])
        let sent = try #require(transport.requests(SubscriptionsModify.Request.self).first)
        #expect(sent.items.map(\.subscription.kind) == [.query, .database, .zone, nil])
        let dictionaries = sent.items.prefix(3).map(\.subscription)
        #expect(dictionaries[0].firesOn == [.update] && dictionaries[0].firesOnce)
        #expect(dictionaries[0].isZoneWide == true && dictionaries[0].query?.filterBy.count == 2)
        #expect(dictionaries[1].recordType == "Hut")
        #expect(dictionaries[1].notificationInfo?.shouldSendContentAvailable == true)
        #expect(dictionaries[2].zoneID?.zoneName == "Trips")

        let list = ScriptedTransport { _, _ in
            SubscriptionsList.Answer(dictionaries.map { .subscription($0) })
        }
        let fetched = try await container(list).privateCloudDatabase.allSubscriptions()
        #expect(fetched.map(\.subscriptionID) == ["q", "d", "z"])
        let copy = try #require(fetched.first as? CKQuerySubscription)
        #expect(
            copy.recordType == "Hut"
                && copy.querySubscriptionOptions == [.firesOnRecordUpdate, .firesOnce])
        #expect(copy.predicate.evaluate(with: ["beds": 4, "tags": ["y"]]))
        #expect(!copy.predicate.evaluate(with: ["beds": 4, "tags": ["x"]]))
        #expect((fetched.last as? CKRecordZoneSubscription)?.zoneID == trips)
    }

    /// Otherwise a service that always returns the same token would be asked forever.
    @Test func repeatedChangeTokenEndsFetch() async throws {
        let transport = ScriptedTransport { request, _ in
            guard let zones = (request as? ChangesZone.Request)?.zones else {
                return ChangesDatabase.Answer(zones: [], syncToken: "T", moreComing: true)
            }
            return ChangesZone.Answer(
                zones.map { zone in
                    // The second zone's answer is correct.
                    let isGood = zone.zoneID.zoneName != "Trips"
                    return .success(
                        ChangesZone.Page(
                            zoneID: zone.zoneID, records: [served("a")], syncToken: "T",
                            moreComing: !isGood))
                })
        }
        // The test also ends without the check.
        let limited = ScriptedTransport { request, target in
            guard transport.requests.count < 20 else { throw CancellationError() }
            if request is ChangesZone.Request {
                return try await transport.send(
                    ChangesZone.self, try #require(request as? ChangesZone.Request), to: target,
                    timeoutSeconds: 60)
            }
            return try await transport.send(
                ChangesDatabase.self, try #require(request as? ChangesDatabase.Request),
                to: target, timeoutSeconds: 60)
        }
        let database = container(limited).privateCloudDatabase
        let log = Log()
        let zones = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        zones.fetchDatabaseChangesResultBlock = {
            log.add("\(($0.failure as? CKError)?.code == .serverRejectedRequest)")
        }
        await run(zones, on: database)
        let other = CKRecordZone.ID(zoneName: "Other")
        let records = CKFetchRecordZoneChangesOperation(recordZoneIDs: [trips, other])
        records.recordZoneFetchResultBlock = { zoneID, result in
            let isRefused = (result.failure as? CKError)?.code == .serverRejectedRequest
            log.add("\(zoneID.zoneName) \(isRefused)")
        }
        await run(records, on: database)
        #expect(log.all == ["true", "Trips true", "Other false"])
    }

    @Test func fetchedSubscriptionWithoutOptionIsNotSaved() async throws {
        var never = SubscriptionDictionary(subscriptionID: "q", kind: .query)
        never.query = QueryDictionary(recordType: "Hut")
        let dictionary = never
        let database = database { _, _ in
            SubscriptionsList.Answer([.subscription(dictionary)])
        }
        let subscription = try #require(try await database.allSubscriptions().first)
        #expect((subscription as? CKQuerySubscription)?.querySubscriptionOptions == [])
        await #expect(throws: CKError(.invalidArguments)) { try await database.save(subscription) }
    }

    @Test func userRecordIDIsFetchedOnce() async throws {
        let transport = ScriptedTransport { request, _ in
            if request is EmptyBody {
                return UsersCaller.Answer(identity: UserIdentityDictionary(userRecordName: "_ida"))
            }
            return RecordsLookup.Answer(records: [served("_ida", zone: "_defaultZone")])
        }
        let container = container(transport)
        #expect(try await container.accountStatus() == .available)
        #expect(try await container.userRecordID().recordName == "_ida")
        let log = Log()
        let operation = CKFetchRecordsOperation.fetchCurrentUserRecordOperation()
        operation.perRecordResultBlock = { recordID, _ in log.add(recordID.recordName) }
        await run(operation, on: container.publicCloudDatabase)
        #expect(log.all == ["_ida"])
        // Requested once, and cached from then on.
        #expect(transport.requests(EmptyBody.self).count == 1)
    }

    /// The service's answer to a user whom its operator disabled.
    @Test func disabledAccountIsRestricted() async throws {
        let transport = ScriptedTransport { _, _ in
            throw ServiceFailure(
                ServiceError(
                    .accessDenied, "The account is disabled.",
                    frameworkCode: .managedAccountRestricted))
        }
        #expect(try await container(transport).accountStatus() == .restricted)
    }
}
