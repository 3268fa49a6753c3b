import Foundation
import StratusRecords
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusClient

/// With Apple's own service the client uses only what Apple's pages document: it sends no parameter and no key of this
/// project, and does not rely on answers that only Stratus gives. Here a Stratus service takes the place of Apple's.
@Suite struct DocumentedProtocolTests {
    /// The query parameters and JSON keys of requests that the protocol documents or that CloudKit JS sends, without
    /// the names of fields.
    private static let parameters: Set = ["ckAPIToken", "ckWebAuthToken", "clientId"]
    private static let keys: Set = [
        "operations", "operationType", "record", "recordName", "recordType", "recordChangeTag",
        "fields", "zoneID", "zoneName", "ownerRecordName", "zoneType", "atomic", "desiredKeys",
        "numbersAsStrings", "records", "zones", "zone", "syncToken", "resultsLimit", "reverse",
        "query", "filterBy", "sortBy", "comparator", "fieldName", "fieldValue", "ascending",
        "zoneWide", "continuationMarker", "subscriptions", "subscription", "subscriptionID",
        "subscriptionType", "firesOn", "firesOnce", "notificationInfo", "alertBody", "shouldBadge",
        "shouldSendContentAvailable", "tokens", "assets", "shortGUIDs", "value",
        "shouldFetchRootRecord", "rootRecordDesiredKeys", "parent", "share", "publicPermission",
        "participants", "userIdentity", "lookupInfo", "emailAddress", "userRecordName", "type",
        "permission", "acceptanceStatus", "forRecord", "createShortGUID", "lookupInfos",
        "nameComponents", "givenName", "familyName", "participantId",
    ]

    private let proxy = RecordingProxy()
    private let scratch: Scratch

    init() throws {
        scratch = try Scratch()
    }

    private func device(
        _ origin: String, _ cloud: TestCloud, _ user: String
    ) async throws -> CKContainer {
        let token = try await cloud.service.signInForDevelopment(user: user).webAuthToken
        let transport = try #require(
            HTTPTransport(
                origin: origin, credentials: .init(apiToken: "development", webAuthToken: token),
                deviceID: user, knowsExtensions: false))
        return CKContainer(
            identifier: Trip.identifier,
            connection: CloudConnection(
                transport: transport, environment: .development, hasAccount: true, deviceID: user))
    }

    private func check() throws {
        #expect(!proxy.log.all.isEmpty)
        for sent in proxy.log.all {
            #expect(Set(sent.query).isSubset(of: Self.parameters), "\(sent.path): \(sent.query)")
            guard !sent.body.isEmpty else { continue }
            let body = try JSONSerialization.jsonObject(with: sent.body)
            let unknown = Self.keys(in: body).subtracting(Self.keys)
            #expect(unknown.isEmpty, "\(sent.path) sends \(unknown)")
        }
    }

    private static func keys(in value: Any) -> Set<String> {
        if let list = value as? [Any] {
            return list.reduce(into: []) { $0.formUnion(keys(in: $1)) }
        }
        guard let object = value as? [String: Any] else { return [] }
        return object.reduce(into: Set(object.keys)) { keys, member in
            if member.key != "fields" { keys.formUnion(Self.keys(in: member.value)) }
        }
    }

    @Test func recordsOfSeveralZonesUseDocumentedKeys() async throws {
        let cloud = TestCloud()
        try await proxy.serve(cloud) { origin in
            let database = try await self.device(origin, cloud, "ida@example.org")
                .privateCloudDatabase
            let huts = CKRecordZone.ID(zoneName: "Huts")
            let saved = try await database.modifyRecordZones(
                saving: [CKRecordZone(zoneID: trips), CKRecordZone(zoneID: huts)], deleting: [])
            #expect(saved.saveResults.count == 2)
            let (here, there) = (
                hut("a"), CKRecord(recordType: "Hut", recordID: .init(zoneID: huts))
            )
            here["beds"] = 3
            there["photo"] = CKAsset(fileURL: try self.scratch.file("photo", bytes: 900))
            let results = try await database.modifyRecords(saving: [here, there], deleting: [])
            for result in results.saveResults.values { _ = try result.get() }
            let found = try await database.records(for: [there.recordID, here.recordID])
            #expect(try found[here.recordID]?.get()["beds"] as? Int == 3)
            let photo = try found[there.recordID]?.get()["photo"] as? CKAsset
            #expect(try Data(contentsOf: try #require(photo?.fileURL)).count == 900)

            // The conflict has no server record, so the client fetches it. The other zone's record is saved.
            let stale = try await database.record(for: here.recordID)
            here["beds"] = 4
            try await database.save(here)
            (stale["beds"], there["beds"]) = (5, 6)
            let mixed = try await database.modifyRecords(saving: [stale, there], deleting: [])
            #expect(throws: CKError(.serverRecordChanged)) {
                try mixed.saveResults[stale.recordID]?.get()
            }
            #expect(throws: Never.self) { try mixed.saveResults[there.recordID]?.get() }
            let conflict = await #expect(throws: CKError.self) { try await database.save(stale) }
            #expect(conflict?.serverRecord?["beds"] as? Int == 4)
            #expect(conflict?.ancestorRecord?["beds"] as? Int == 3)
        }
        try check()
    }

    /// Another user signs in between the requests to two zones.
    @Test func accountSwitchBetweenZoneRequestsFails() async throws {
        let cloud = TestCloud()
        let switching = Mutex<(@Sendable () throws -> Void)?>(nil)
        var proxy = proxy
        proxy.served = { path in
            if path.hasSuffix("records/modify") {
                try switching.withLock { $0.take() }?()
            }
        }
        try await proxy.serve(cloud) { origin in
            let container = try await self.device(origin, cloud, "ida@example.org")
            let database = container.privateCloudDatabase
            let huts = CKRecordZone.ID(zoneName: "Huts")
            _ = try await database.modifyRecordZones(
                saving: [CKRecordZone(zoneID: trips), CKRecordZone(zoneID: huts)], deleting: [])
            let token = try await cloud.service.signInForDevelopment(user: "bo@example.org")
                .webAuthToken
            switching.withLock {
                $0 = { try container.connection.signIn(webAuthToken: token) }
            }
            let records = [hut("a"), CKRecord(recordType: "Hut", recordID: .init(zoneID: huts))]
            await #expect(throws: CKError(.notAuthenticated)) {
                try await database.modifyRecords(saving: records, deleting: [])
            }
        }
        #expect(proxy.log.all.count { $0.path.hasSuffix("records/modify") } == 1)
    }

    @Test func queriesChangesAndSubscriptionsUseDocumentedKeys() async throws {
        let cloud = TestCloud()
        try await proxy.serve(cloud) { origin in
            let database = try await self.device(origin, cloud, "ida@example.org")
                .privateCloudDatabase
            try await database.save(CKRecordZone(zoneID: trips))
            for (name, beds) in [("a", 2), ("b", 9)] {
                let record = hut(name)
                record["beds"] = beds
                try await database.save(record)
            }
            let query = CKQuery(
                recordType: "Hut", predicate: NSPredicate(format: "beds > %d", 3))
            query.sortDescriptors = [NSSortDescriptor(key: "beds", ascending: false)]
            let matches = try await database.records(matching: query, inZoneWith: trips)
            #expect(matches.matchResults.map(\.0.recordName) == ["b"])
            let first = try await database.recordZoneChanges(inZoneWith: trips, since: nil)
            #expect(first.modificationResultsByID.count == 2)
            try await database.deleteRecord(withID: hut("a").recordID)
            let next = try await database.recordZoneChanges(
                inZoneWith: trips, since: first.changeToken)
            #expect(next.deletions.map(\.recordID.recordName) == ["a"])
            #expect(try await database.databaseChanges(since: nil).modifications.count == 1)
            let subscription = CKRecordZoneSubscription(zoneID: trips, subscriptionID: "all")
            subscription.notificationInfo = .init(
                alertBody: "New", shouldBadge: true, shouldSendContentAvailable: true)
            try await database.save(subscription)
            #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["all"])
            _ = try await database.deleteRecordZone(withID: trips)
        }
        try check()
    }

    @Test func sharingUsesDocumentedKeys() async throws {
        let cloud = TestCloud()
        try await proxy.serve(cloud) { origin in
            let ida = try await self.device(origin, cloud, "ida@example.org")
            let bo = try await self.device(origin, cloud, "bo@example.org")
            try await ida.privateCloudDatabase.save(CKRecordZone(zoneID: trips))
            let root = hut("trail")
            let share = CKShare(rootRecord: root)
            share[CKShare.SystemFieldKey.title] = "Sunday"
            let person = try await ida.shareParticipant(forEmailAddress: "bo@example.org")
            person.permission = .readWrite
            share.addParticipant(person)
            let results = try await ida.privateCloudDatabase.modifyRecords(
                saving: [root, share], deleting: [])
            for result in results.saveResults.values { _ = try result.get() }
            let metadata = try await bo.shareMetadata(for: try #require(share.url))
            _ = try await bo.accept(metadata)
            let zones = try await bo.sharedCloudDatabase.allRecordZones()
            let zoneID = try #require(zones.first).zoneID
            let seen = CKRecord.ID(recordName: "trail", zoneID: zoneID)
            let record = try await bo.sharedCloudDatabase.record(for: seen)
            record["beds"] = 1
            try await bo.sharedCloudDatabase.save(record)
        }
        try check()
    }

    /// Features that are documented only for the framework fail; they are not silently left out.
    @Test func accessRequestsAndEncryptionScopesAreRejected() async throws {
        let cloud = TestCloud()
        try await proxy.serve(cloud) { origin in
            let ida = try await self.device(origin, cloud, "ida@example.org")
            let database = ida.privateCloudDatabase
            try await database.save(CKRecordZone(zoneID: trips))
            let vault = CKRecordZone(zoneName: "Vault")
            vault.encryptionScope = .perZone
            #expect(
                await codeOf { _ = try await database.save(vault) } == .serverRejectedRequest)
            let share = CKShare(recordZoneID: trips)
            share.allowsAccessRequests = true
            #expect(
                await codeOf { _ = try await database.save(share) } == .serverRejectedRequest)
            share.allowsAccessRequests = false
            try await database.save(share)
            let link = try #require(share.url)
            #expect(
                await codeOf { _ = try await ida.requestShareAccess(for: [link]) }
                    == .serverRejectedRequest)
            #expect(try await database.allRecordZones().count == 2)
        }
        try check()
    }

    /// Only the origin decides.
    @Test(arguments: [
        ("https://api.apple-cloudkit.com", false), ("https://api.apple-cloudkit.com/", false),
        ("https://cloud.example.org", true), ("http://127.0.0.1:8080", true),
    ])
    func originDecidesWhetherExtensionsAreUsed(_ origin: String, _ isOurs: Bool) throws {
        let transport = try #require(
            HTTPTransport(origin: origin, credentials: .init(apiToken: "a"), deviceID: "phone"))
        #expect(transport.knowsExtensions == isOurs)
        let target = RequestTarget(
            container: .init(container: "iCloud.org.example", environment: .production),
            scope: .private)
        let url = transport.url(ZonesList.self, target, "t+/=")
        #expect(url.contains("stratus") == isOurs)
        #expect(
            isOurs
                || url == "https://api.apple-cloudkit.com/database/1/iCloud.org.example/production/"
                    + "private/zones/list?ckAPIToken=a&ckWebAuthToken=t%2B%2F%3D&clientId=phone"
        )
    }
}
