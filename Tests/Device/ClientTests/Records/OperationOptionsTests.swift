import Foundation
import StratusClient
import StratusStorage
import StratusTesting
import Testing

/// Operations do what was requested: the records, the fields, the pages, the policy.
@Suite struct OperationOptionsTests {
    private func trip(huts count: Int = 0) async throws -> (Trip, CKDatabase) {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        for number in 0..<count {
            let record = hut("hut-\(number)")
            record["beds"] = number
            record["name"] = "Gipfel"
            try await database.save(record)
        }
        return (trip, database)
    }

    // MARK: Records

    @Test(arguments: [nil, [], ["beds"], ["beds", "missing"]] as [[String]?])
    func fetchReturnsDesiredKeysOnly(_ keys: [CKRecord.FieldKey]?) async throws {
        let (_, database) = try await trip(huts: 1)
        let operation = CKFetchRecordsOperation(recordIDs: [hut("hut-0").recordID])
        operation.desiredKeys = keys
        let fetched = Kept<CKRecord>()
        operation.perRecordResultBlock = { _, result in
            if case .success(let record) = result { fetched.add(record) }
        }
        await run(operation, on: database)
        let expected =
            keys.map { $0.filter { ["beds", "name"].contains($0) } } ?? ["beds", "name"]
        #expect(fetched.all.map { $0.allKeys() } == [expected])
        #expect(fetched.all.first?.recordChangeTag != nil)
    }

    @Test func modifyOperationUsesPropertiesSetLater() async throws {
        let (trip, database) = try await trip()
        let record = hut("new")
        let operation = CKModifyRecordsOperation()
        operation.recordsToSave = [record]
        operation.recordIDsToDelete = [hut("diary").recordID]
        let log = Log()
        operation.perRecordSaveBlock = { recordID, _ in log.add("saved \(recordID.recordName)") }
        operation.perRecordDeleteBlock = { recordID, _ in log.add("gone \(recordID.recordName)") }
        await run(operation, on: database)
        #expect(log.all == ["saved new", "gone diary"])
        let found = try await database.records(
            for: [record.recordID, hut("diary").recordID, trip.trail.recordID])
        #expect(
            Set(found.filter { (try? $0.value.get()) != nil }.keys.map(\.recordName))
                == ["new", "trail"])
    }

    @Test func savePolicyDecidesConflictOutcome() async throws {
        let (trip, database) = try await trip()
        typealias Policy = CKModifyRecordsOperation.RecordSavePolicy
        for (policy, isSaved) in [
            (Policy.ifServerRecordUnchanged, false), (.changedKeys, true), (.allKeys, true),
        ] {
            let stale = try await database.record(for: trip.hutBelow.recordID)
            let theirs = try await database.record(for: trip.hutBelow.recordID)
            theirs["beds"] = 10
            theirs["name"] = "theirs"
            try await database.save(theirs)
            stale["name"] = "ours"
            let operation = CKModifyRecordsOperation(recordsToSave: [stale])
            operation.savePolicy = policy
            let log = Log()
            operation.perRecordSaveBlock = { _, result in
                if case .failure(let error as CKError) = result { log.add("\(error.code)") }
            }
            await run(operation, on: database)
            #expect(log.all == (isSaved ? [] : ["serverRecordChanged"]))
            let now = try await database.record(for: trip.hutBelow.recordID)
            #expect(now["name"] as? String == (isSaved ? "ours" : "theirs"))
            // One policy sends all keys, the other only the changed one.
            let beds = stale["beds"] as? Int
            #expect(now["beds"] as? Int == (policy == .allKeys ? beds : 10))
        }
    }

    @Test(arguments: [true, false])
    func atomicFlagDecidesPartialSave(_ isAtomic: Bool) async throws {
        let (_, database) = try await trip()
        let orphan = hut("orphan")
        orphan.setParent(CKRecord.ID(recordName: "nobody", zoneID: trips))
        let operation = CKModifyRecordsOperation(recordsToSave: [hut("good"), orphan])
        operation.isAtomic = isAtomic
        let log = Log()
        operation.perRecordSaveBlock = { recordID, result in
            let error =
                if case .failure(let error as CKError) = result { error } else { nil as CKError? }
            log.add("\(recordID.recordName) \(error.map { "\($0.code)" } ?? "saved")")
        }
        await run(operation, on: database)
        #expect(
            log.all == [
                isAtomic ? "good batchRequestFailed" : "good saved", "orphan referenceViolation",
            ])
        let found = await codeOf { _ = try await database.record(for: hut("good").recordID) }
        #expect(found == (isAtomic ? .unknownItem : nil))
    }

    // MARK: Changes

    @Test func databaseChangesArePagedByResultsLimit() async throws {
        let (_, database) = try await trip()
        for name in ["A", "B"] { try await database.save(CKRecordZone(zoneName: name)) }
        var token: CKServerChangeToken?
        var names: [[String]] = []
        while true {
            let operation = CKFetchDatabaseChangesOperation(previousServerChangeToken: token)
            operation.resultsLimit = 1
            operation.fetchAllChanges = false
            let zones = Log()
            operation.recordZoneWithIDChangedBlock = { zones.add($0.zoneName) }
            let page = try await withCheckedThrowingContinuation { continuation in
                operation.fetchDatabaseChangesResultBlock = { continuation.resume(with: $0) }
                database.add(operation)
            }
            names.append(zones.all)
            token = page.serverChangeToken
            if !page.moreComing { break }
        }
        #expect(names.allSatisfy { $0.count <= 1 } && names.count >= 3)
        #expect(Set(names.joined()) == ["A", "B", "Trips"])
        // When all pages are fetched, a token is reported after every page but the last.
        let all = CKFetchDatabaseChangesOperation(previousServerChangeToken: nil)
        all.resultsLimit = 1
        let log = Log()
        all.recordZoneWithIDChangedBlock = { _ in log.add("zone") }
        all.changeTokenUpdatedBlock = { _ in log.add("token") }
        await run(all, on: database)
        // The default zone is not in the feed.
        #expect(log.all == ["zone", "token", "zone", "token", "zone"], "\(log.all)")
    }

    @Test func zoneChangesArePagedWithDesiredKeys() async throws {
        let (_, database) = try await trip(huts: 3)
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
            previousServerChangeToken: nil, resultsLimit: 2, desiredKeys: ["name"])
        var pages: [[CKRecord]] = []
        while true {
            let operation = CKFetchRecordZoneChangesOperation()
            operation.recordZoneIDs = [trips]
            operation.configurationsByRecordZoneID = [trips: configuration]
            operation.fetchAllChanges = false
            let records = Kept<CKRecord>()
            operation.recordWasChangedBlock = records.successes()
            let end = try await withCheckedThrowingContinuation { continuation in
                operation.recordZoneFetchResultBlock = { continuation.resume(with: $1) }
                database.add(operation)
            }
            pages.append(records.all)
            configuration.previousServerChangeToken = end.serverChangeToken
            if !end.moreComing { break }
        }
        // The records of one request, as the first three, are in one page.
        #expect(pages.map(\.count) == [3, 2, 1])
        let records = pages.flatMap { $0 }
        #expect(records.count == 6)
        #expect(Set(records.flatMap { $0.allKeys() }) == ["name"])
        // Fetched changes are not fetched again.
        let log = Log()
        let after = CKFetchRecordZoneChangesOperation(
            recordZoneIDs: [trips], configurationsByRecordZoneID: [trips: configuration])
        after.recordWasChangedBlock = { recordID, _ in log.add(recordID.recordName) }
        await run(after, on: database)
        #expect(log.all.isEmpty)
    }

    // MARK: Queries

    @Test func queryRespectsDesiredKeysAndResultsLimit() async throws {
        let (_, database) = try await trip(huts: 3)
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(format: "name == 'Gipfel'"))
        query.sortDescriptors = [NSSortDescriptor(key: "beds", ascending: false)]
        let operation = CKQueryOperation(query: query)
        operation.zoneID = trips
        operation.resultsLimit = 2
        operation.desiredKeys = ["beds"]
        let records = Kept<CKRecord>()
        operation.recordMatchedBlock = records.successes()
        let cursor = try await withCheckedThrowingContinuation { continuation in
            operation.queryResultBlock = { continuation.resume(with: $0) }
            database.add(operation)
        }
        #expect(records.all.map { $0["beds"] as? Int } == [2, 1])
        #expect(records.all.map { $0.allKeys() } == [["beds"], ["beds"]])
        let rest = CKQueryOperation(cursor: try #require(cursor))
        let log = Log()
        rest.recordMatchedBlock = { recordID, _ in log.add(recordID.recordName) }
        await run(rest, on: database)
        #expect(log.all == ["hut-0"])
    }

    @Test func archivedLocationSortDescriptorSorts() async throws {
        let (_, database) = try await trip(huts: 3)
        let here = CLLocation(latitude: 47, longitude: 11)
        for number in 0..<3 {
            let record = try await database.record(for: hut("hut-\(number)").recordID)
            record["spot"] = CLLocation(latitude: 49 - Double(number), longitude: 11)
            try await database.save(record)
        }
        let data = try NSKeyedArchiver.archivedData(
            withRootObject: CKLocationSortDescriptor(key: "spot", relativeLocation: here),
            requiringSecureCoding: true)
        let descriptor = try #require(
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKLocationSortDescriptor.self, from: data))
        #expect(descriptor.key == "spot" && descriptor.relativeLocation.distance(from: here) == 0)
        let query = CKQuery(recordType: "Hut", predicate: NSPredicate(format: "name == 'Gipfel'"))
        query.sortDescriptors = [descriptor]
        let page = try await database.records(matching: query, inZoneWith: trips)
        #expect(page.matchResults.map(\.0.recordName) == ["hut-2", "hut-1", "hut-0"])
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        descriptor.encode(with: coder)
        coder.finishEncoding()
        let reader = try NSKeyedUnarchiver(forReadingFrom: coder.encodedData)
        #expect(CKLocationSortDescriptor(coder: reader)?.key == "spot")
    }

    // MARK: Zones and subscriptions

    @Test func listedZonesAndSubscriptionsAreFetchedAndDeleted() async throws {
        let (_, database) = try await trip()
        try await database.save(CKRecordZone(zoneName: "More"))
        let log = Log()
        let zones = CKFetchRecordZonesOperation(recordZoneIDs: [trips])
        zones.perRecordZoneResultBlock = { zoneID, _ in log.add(zoneID.zoneName) }
        await run(zones, on: database)
        #expect(log.all == ["Trips"])
        let save = CKModifySubscriptionsOperation(
            subscriptionsToSave: [
                CKDatabaseSubscription(subscriptionID: "a"),
                CKRecordZoneSubscription(zoneID: trips, subscriptionID: "b"),
            ], subscriptionIDsToDelete: nil)
        await run(save, on: database)
        let found = Log()
        let fetch = CKFetchSubscriptionsOperation(subscriptionIDs: ["b", "c"])
        fetch.perSubscriptionResultBlock = { subscriptionID, result in
            found.add("\(subscriptionID) \((try? result.get()) != nil)")
        }
        await run(fetch, on: database)
        #expect(found.all.sorted() == ["b true", "c false"])
        let gone = Log()
        let delete = CKModifySubscriptionsOperation(
            subscriptionsToSave: nil, subscriptionIDsToDelete: ["a"])
        delete.perSubscriptionDeleteBlock = { subscriptionID, _ in gone.add(subscriptionID) }
        await run(delete, on: database)
        #expect(gone.all == ["a"])
        #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["b"])
    }

    @Test func zoneNotificationNamesZoneAndDatabase() async throws {
        let (trip, database) = try await trip()
        let tablet = try await trip.cloud.container(
            Trip.identifier, user: "ida@example.org", device: "ida's tablet")
        let subscription = CKRecordZoneSubscription(zoneID: trips, subscriptionID: "trips")
        subscription.notificationInfo = .init(
            alertBody: "A trip changed", soundName: "horn", shouldSendContentAvailable: true,
            shouldSendMutableContent: true, category: "TRIP")
        try await database.save(subscription)
        for await event in tablet.connection.remoteNotifications(container: Trip.identifier) {
            switch event {
            case .listening:
                trip.hutBelow["beds"] = 5
                try await database.save(trip.hutBelow)
            case .notification(let hint):
                let notification = try #require(
                    CKNotification(fromRemoteNotificationDictionary: hint.userInfo)
                        as? CKRecordZoneNotification)
                #expect(notification.databaseScope == .private)
                #expect(notification.recordZoneID == trips)
                #expect(notification.subscriptionID == "trips")
                #expect(notification.alertBody == "A trip changed")
                #expect(notification.soundName == "horn" && notification.category == "TRIP")
                let aps = hint.userInfo["aps"] as? [String: Any]
                #expect(aps?["mutable-content"] as? Int == 1)
                return
            }
        }
    }

    @Test func metadataAndTokenOperationsUsePropertiesSetLater() async throws {
        let (trip, database) = try await trip()
        let share = try await trip.share()
        let metadata = CKFetchShareMetadataOperation()
        metadata.shareURLs = [try #require(share.url)]
        let log = Log()
        metadata.perShareMetadataResultBlock = { _, result in
            log.add((try? result.get())?.share.recordID == share.recordID ? "share" : "none")
        }
        await run(metadata, on: trip.ida)
        let token = CKFetchWebAuthTokenOperation()
        token.apiToken = "development"
        token.fetchWebAuthTokenResultBlock = { log.add((try? $0.get()) == nil ? "none" : "token") }
        await run(token, on: database)
        #expect(log.all == ["share", "token"])
    }

    // MARK: People

    @Test func discoverableUserHasNameComponents() async throws {
        let storage = SQLiteStorageEngine.inMemory()
        let cloud = TestCloud(storage: storage)
        let ida = try await cloud.container(
            Trip.identifier, user: "ida@example.org", device: "phone")
        let bo = try await cloud.container(Trip.identifier, user: "bo@example.org", device: "phone")
        let boID = try await bo.userRecordID()
        var user = try #require(
            try await storage.directory.user(recordName: boID.recordName))
        user.givenName = "Bo"
        user.familyName = "Holm"
        _ = try await storage.directory.update(user)
        #expect(try await ida.userIdentity(forUserRecordID: boID) == nil)
        _ = try await bo.requestApplicationPermission(.userDiscoverability)
        let identity: CKUserIdentity = try #require(
            try await ida.userIdentity(forUserRecordID: boID))
        let components: PersonNameComponents? = identity.nameComponents
        #expect(components?.givenName == "Bo" && components?.familyName == "Holm")
        // Without a name there are no components.
        _ = try await ida.requestApplicationPermission(.userDiscoverability)
        let idaID = try await ida.userRecordID()
        let nameless = try #require(try await bo.userIdentity(forUserRecordID: idaID))
        #expect(nameless.nameComponents == nil)
    }

    @Test func participantIDKeepsOneTimeURL() async throws {
        let (trip, database) = try await trip()
        let share = try await trip.share { share in
            share.addParticipant(CKShare.Participant.oneTimeURLParticipant())
            share.addParticipant(CKShare.Participant.oneTimeURLParticipant())
        }
        let ids: [CKShare.Participant.ID] = share.participants.map(\.participantID)
        #expect(Set(ids).count == 3)
        let links = ids.map { share.oneTimeURL(for: $0) }
        // The owner has none, and each participant has a different one.
        #expect(links.filter { $0 == nil }.count == 1 && Set(links).count == 3)
        let again = try #require(
            try await database.record(for: share.recordID) as? CKShare)
        #expect(again.participants.map(\.participantID) == ids)
        #expect(ids.map { again.oneTimeURL(for: $0) } == links)
        #expect(again.oneTimeURL(for: "nobody") == nil)
    }
}

extension Kept<CKRecord> {
    /// A block that collects the fetched records.
    fileprivate func successes() -> @Sendable (CKRecord.ID, Result<CKRecord, any Error>) -> Void {
        { _, result in
            if case .success(let record) = result { self.add(record) }
        }
    }
}
