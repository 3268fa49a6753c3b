import Foundation
import StratusClient
import StratusTesting
import TestSeeds
import Testing

/// With any damage in its content, an archive decodes to nil or to a usable object.
@Suite struct DamagedArchiveTests {
    private static func record() -> CKRecord {
        let record = CKRecord(
            recordType: "Hut",
            recordID: CKRecord.ID(
                recordName: "a", zoneID: CKRecordZone.ID(zoneName: "Z", ownerName: "_owner")))
        record["name"] = "Gipfel"
        record["beds"] = 24
        record["at"] = Date(timeIntervalSince1970: 5)
        record["blob"] = Data([1])
        record["tags"] = ["a", "b"]
        record["trail"] = CKRecord.Reference(recordID: record.recordID, action: .deleteSelf)
        record["place"] = CLLocation(
            latitude: 1, longitude: 2, timestamp: Date(timeIntervalSince1970: 3))
        record["photo"] = CKAsset(fileURL: URL(fileURLWithPath: "/tmp/photo"))
        record["photos"] = [CKAsset(fileURL: URL(fileURLWithPath: "/tmp/photo"))]
        record.encryptedValues["diary"] = "secret"
        record.setParent(record.recordID)
        return record
    }

    private static func query() -> CKQuery {
        let query = CKQuery(
            recordType: "Hut",
            predicate: NSPredicate(
                format: "beds >= 3 AND NOT (a IN {'x'}) AND spot == %@ AND ANY t == 1",
                CLLocation(latitude: 1, longitude: 2)))
        query.sortDescriptors = [
            NSSortDescriptor(key: "beds", ascending: false),
            CKLocationSortDescriptor(
                key: "spot", relativeLocation: CLLocation(latitude: 1, longitude: 2)),
        ]
        return query
    }

    private static func subscription() -> CKQuerySubscription {
        let subscription = CKQuerySubscription(
            recordType: "Hut", predicate: NSPredicate(format: "beds > 3"), subscriptionID: "q")
        subscription.notificationInfo = CKSubscription.NotificationInfo(
            alertBody: "New", alertLocalizationArgs: ["name"], desiredKeys: ["name"])
        subscription.zoneID = CKRecordZone.ID(zoneName: "Z")
        return subscription
    }

    /// - Parameter isEverOptional: Whether an empty archive decodes to an object too.
    private func expectNoHarm<Object: NSObject & NSCoding>(
        _ object: Object, rounds: Int = 2_000, isEverOptional: Bool = false
    ) {
        let whole = DamagedCoder.parts(of: object)
        #expect(Object(coder: DamagedCoder(whole)) != nil)
        var read = 0
        for seed in Seeds.forTest("DamagedArchiveTests", count: rounds) {
            var chance = SeededNumbers(seed: seed)
            var parts = DamagedCoder.damaged(whole, &chance)
            if Bool.random(using: &chance) { parts = DamagedCoder.damaged(parts, &chance) }
            guard let copy = Object(coder: DamagedCoder(parts)) else { continue }
            read += 1
            _ = (copy.description, copy.hash, copy.isEqual(object))
            _ = DamagedCoder.parts(of: copy)
            use(copy)
        }
        // Otherwise the damage would be too great to show anything.
        #expect(read > 0 && (read < rounds || isEverOptional))
    }

    private func use(_ object: NSObject) {
        switch object {
        case let record as CKRecord:
            for key in record.allKeys() { _ = record[key].map { "\($0)" } }
            _ = record.encryptedValues["diary"]
            _ = (record.changedKeys(), record.allTokens(), record.parent, record.share)
            if let share = record as? CKShare {
                _ = (share.url, share.owner, share.currentUserParticipant, share.publicPermission)
                for participant in share.participants { use(participant) }
            }
        case let participant as CKShareParticipant:
            _ = (participant.participantID, participant.role, participant.permission)
            _ = (participant.acceptanceStatus, participant.userIdentity.nameComponents)
            _ = participant.userIdentity.lookupInfo
        case let metadata as CKShareMetadata:
            _ = (metadata.participantRole, metadata.participantStatus, metadata.rootRecord)
            use(metadata.share)
        case let query as CKQuery:
            _ = query.predicate.evaluate(with: Self.record())
            _ = query.sortDescriptors?.map(\.key)
        case let subscription as CKQuerySubscription:
            _ = subscription.predicate.evaluate(with: Self.record())
            _ = subscription.notificationInfo?.desiredKeys
        default: break
        }
    }

    @Test func damagedRecordArchiveDoesNotTrap() { expectNoHarm(Self.record(), rounds: 6_000) }
    @Test func damagedQueryArchiveDoesNotTrap() { expectNoHarm(Self.query(), rounds: 6_000) }
    @Test func damagedSubscriptionArchiveDoesNotTrap() { expectNoHarm(Self.subscription()) }

    @Test func damagedShareArchiveDoesNotTrap() async throws {
        let trip = try await Trip()
        let share = try await trip.shareWithBo()
        share.participants.last?.permission = .readOnly
        expectNoHarm(share, rounds: 4_000)
        let metadata = try await trip.bo.shareMetadata(for: try #require(share.url))
        expectNoHarm(metadata)
        let participant = try #require(share.participants.last)
        expectNoHarm(participant)
        expectNoHarm(participant.userIdentity)
        for info in [
            CKUserIdentity.LookupInfo(emailAddress: "bo@example.org"),
            CKUserIdentity.LookupInfo(phoneNumber: "+43 1"),
            CKUserIdentity.LookupInfo(userRecordID: CKRecord.ID(recordName: "_bo")),
        ] {
            expectNoHarm(info, rounds: 500)
        }
        let zone = try await trip.ida.privateCloudDatabase.recordZone(for: trips)
        expectNoHarm(zone)
    }

    @Test func damagedTokenAndCursorArchivesDoNotTrap() async throws {
        let trip = try await Trip()
        let database = trip.ida.privateCloudDatabase
        let token = try await database.databaseChanges(since: nil).changeToken
        expectNoHarm(token, rounds: 500)
        let page = try await database.records(
            matching: Self.anyHut, inZoneWith: trips, resultsLimit: 1)
        expectNoHarm(try #require(page.queryCursor))
        let configuration = CKFetchRecordZoneChangesOperation.ZoneConfiguration(
            previousServerChangeToken: token, resultsLimit: 7, desiredKeys: ["name"])
        expectNoHarm(configuration, rounds: 500, isEverOptional: true)
        let info = try #require(Self.subscription().notificationInfo)
        expectNoHarm(info, isEverOptional: true)
        let notification = CKNotification(fromRemoteNotificationDictionary: [
            "ck": ["cid": "iCloud.x", "nid": "n", "met": ["dbs": 2] as [String: Any]]
                as [String: Any]
        ])
        expectNoHarm(try #require(notification?.notificationID), rounds: 500)
    }

    private static let anyHut = CKQuery(recordType: "Hut", predicate: NSPredicate(value: true))

    @Test func damagedIdentifierArchivesDoNotTrap() throws {
        let record = Self.record()
        expectNoHarm(record.recordID)
        expectNoHarm(record.recordID.zoneID)
        expectNoHarm(CKRecord.Reference(recordID: record.recordID, action: .deleteSelf))
        expectNoHarm(CKRecordZone(zoneName: "Z"))
        expectNoHarm(CKRecordZoneSubscription(zoneID: record.recordID.zoneID, subscriptionID: "z"))
        expectNoHarm(CKDatabaseSubscription(subscriptionID: "d"))
        expectNoHarm(CLLocation(latitude: 1, longitude: 2), rounds: 200)
        expectNoHarm(
            CKLocationSortDescriptor(
                key: "spot", relativeLocation: CLLocation(latitude: 1, longitude: 2)))
        let group = CKOperationGroup()
        group.name = "first sync"
        group.quantity = 3
        group.expectedSendSize = .megabytes
        group.defaultConfiguration.timeoutIntervalForRequest = 5
        expectNoHarm(group)
    }

    @Test func archivedGroupKeepsConfiguration() throws {
        let group = CKOperationGroup()
        let configuration = CKOperation.Configuration()
        configuration.qualityOfService = .utility
        configuration.timeoutIntervalForRequest = 5
        configuration.allowsCellularAccess = false
        group.defaultConfiguration = configuration
        let copy = try #require(
            try NSKeyedUnarchiver.unarchivedObject(
                ofClass: CKOperationGroup.self,
                from: try NSKeyedArchiver.archivedData(
                    withRootObject: group, requiringSecureCoding: true)))
        #expect(copy.defaultConfiguration.qualityOfService == .utility)
        #expect(copy.defaultConfiguration.timeoutIntervalForRequest == 5)
        #expect(!copy.defaultConfiguration.allowsCellularAccess)
        // A setting that was never set has its default.
        #expect(copy.defaultConfiguration.timeoutIntervalForResource == 604_800)
    }
}
