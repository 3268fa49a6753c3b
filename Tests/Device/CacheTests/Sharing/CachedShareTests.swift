import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import Testing

@testable import StratusCache

/// Shares in a cache, with their participants, also without the service.
@Suite struct CachedShareTests {
    private let root = CKRecord.ID(recordName: "root", zoneID: .list)

    /// Shares a record with Bo, directly at the service.
    private func share(_ device: CloudDevice) async throws -> CKShare {
        let container = CKContainer(
            identifier: CloudDevice.container, connection: device.connection)
        let record = try await container.privateCloudDatabase.record(for: root)
        let share = CKShare(rootRecord: record)
        share[CKShare.SystemFieldKey.title] = "Our list"
        let bo = try await container.shareParticipant(forEmailAddress: "bo@example.org")
        bo.permission = .readWrite
        share.addParticipant(bo)
        let results = try await container.privateCloudDatabase.modifyRecords(
            saving: [record, share], deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
        return share
    }

    private func shared() async throws -> (phone: CloudDevice, share: CKShare) {
        let phone = try await CloudDevice(TestCloud(), "phone")
        try phone.save("root", "1")
        try await phone.cache.sync()
        let share = try await share(phone)
        try await phone.cache.sync()
        return (phone, share)
    }

    @Test func cachedShareKeepsParticipantsAndURL() async throws {
        let (phone, share) = try await shared()
        // Nothing is left in memory.
        try phone.restart()
        let kept = try await #require(try phone.cache.record(for: share.recordID) as? CKShare)
        #expect(kept.participants == share.participants && kept.owner.role == .owner)
        #expect(kept.participants.map(\.permission) == [.readWrite, .readWrite])
        #expect(kept.participants.last?.acceptanceStatus == .pending)
        #expect(kept.currentUserParticipant?.role == .owner)
        #expect(kept.url == share.url && kept.publicPermission == .none)
        #expect(kept[CKShare.SystemFieldKey.title] == "Our list")
        #expect(kept.changedKeys().isEmpty)
        #expect(try await phone.cache.record(for: root)?.share?.recordID == share.recordID)
        let all = try await phone.cache.records(
            ofType: CKRecord.SystemType.share, inZoneWith: share.recordID.zoneID)
        #expect(all.map { $0 is CKShare } == [true])
    }

    /// As at the service: `ClientShareTests.queryFindsTheRecordOfAShare`.
    @Test func queryFindsTheRecordOfAShare() async throws {
        let (phone, share) = try await shared()
        try phone.save("other", "1")
        let reference = CKRecord.Reference(record: share, action: .none)
        let query = CacheQuery("Item")
            .where(NSPredicate(format: "%K == %@", CKRecord.SystemFieldKey.share, reference))
        let found = try await phone.cache.records(matching: query)
        #expect(found.map(\.recordID) == [root])
    }

    @Test func participantChangeArrivesWithNextSync() async throws {
        let (phone, share) = try await shared()
        let kept = try await #require(try phone.cache.record(for: share.recordID) as? CKShare)
        let bo = try #require(kept.participants.last)
        kept.removeParticipant(bo)
        // The cache saves only the fields of a share, and throws an error.
        let error = #expect(throws: CacheError.self) { try phone.cache.save(kept) }
        #expect(error?.code == .unsavedShare)
        let container = CKContainer(
            identifier: CloudDevice.container, connection: phone.connection)
        try await container.privateCloudDatabase.save(kept)
        try await phone.cache.sync()
        let now = try await #require(try phone.cache.record(for: share.recordID) as? CKShare)
        #expect(now.participants.map(\.role) == [.owner])
    }

    @Test func cacheRefusesNewShare() async throws {
        let phone = try await CloudDevice(TestCloud(), "phone")
        try phone.save("root", "1")
        let record = try await #require(try phone.cache.record(for: root))
        let error = #expect(throws: CacheError.self) {
            try phone.cache.save([record, CKShare(rootRecord: record)])
        }
        #expect(error?.code == .unsavedShare)
    }

    @Test func shareOfOlderFormatHasNoParticipants() async throws {
        let (phone, share) = try await shared()
        // The row as it was stored before shares had participants.
        try await phone.cache.store.pool.write { database in
            let system = try #require(
                try Data.fetchOne(
                    database, sql: "SELECT system FROM record WHERE name = ?",
                    arguments: [share.recordID.recordName]))
            var fields = try system.withUnsafeBytes { try StoredSystem.decode($0) }
            #expect(fields.sharing != nil)
            fields.sharing = nil
            try database.execute(
                sql: "UPDATE record SET system = ? WHERE name = ?",
                arguments: [StoredSystem.encode(fields), share.recordID.recordName])
        }
        let kept = try await #require(try phone.cache.record(for: share.recordID) as? CKShare)
        #expect(kept.participants.isEmpty && kept.url == nil)
        #expect(kept.recordChangeTag != nil)
    }

    /// The service does not have the key, so a share that is fetched again may lack it.
    @Test func linkKeyIsKeptIfItIsNotFetchedAgain() async throws {
        let (phone, share) = try await shared()
        let stored = try phone.cache.snapshot(RecordID(share.recordID))?.system
        let system = try #require(stored)
        func with(_ key: UInt8?) throws -> RecordSnapshot.SystemFields {
            let json = try JSONSerialization.jsonObject(with: Data(system.sharing ?? []))
            var content = try #require(json as? [String: Any])
            content["linkKey"] = key.map { Data(repeating: $0, count: 32).base64EncodedString() }
            var changed = system
            changed.sharing = [UInt8](
                try JSONSerialization.data(withJSONObject: content, options: .sortedKeys))
            return changed
        }
        var fetched = try with(nil)
        fetched.keepLinkKey(of: try with(1))
        #expect(fetched == (try with(1)))
        fetched.keepLinkKey(of: try with(2))
        #expect(fetched == (try with(1)))
    }

    @Test(
        arguments: [[], [0xFF], Array("{}".utf8), Array("{\"dictionary\":\"\"}".utf8)] as [[UInt8]])
    func damagedSharingDataGivesNoParticipants(_ sharing: [UInt8]) throws {
        let snapshot = RecordSnapshot(
            id: RecordID(name: "s", zoneID: ZoneID(name: "Z")), type: CKRecord.SystemType.share,
            system: .init(changeTag: "1", sharing: sharing))
        let share = try #require(try snapshot.record() as? CKShare)
        #expect(share.participants.isEmpty && share.url == nil)
    }
}
