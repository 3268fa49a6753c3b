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
        var fetched = try self.system(system, withKey: nil)
        let withKey = try self.system(system, withKey: 1)
        fetched.keepLinkKey(of: withKey)
        #expect(fetched == withKey)
        fetched.keepLinkKey(of: try self.system(system, withKey: 2))
        #expect(fetched == withKey)
    }

    /// How the service's state of a share with a pending change arrives.
    enum Answer: CaseIterable { case saved, conflict, lookup }

    /// Another device has changed the title, unless the save succeeds.
    @Test(arguments: Answer.allCases)
    func linkKeyIsKeptWithAPendingChange(_ answer: Answer) async throws {
        let (phone, share) = try await shared()
        let id = RecordID(share.recordID)
        let known = try await #require(try phone.cache.record(for: share.recordID) as? CKShare)
        let stored = try phone.cache.snapshot(id)?.system
        let withKey = try system(try #require(stored), withKey: 1)
        try await phone.cache.store.pool.write { database in
            try database.execute(
                sql: "UPDATE record SET system = ? WHERE name = ?",
                arguments: [StoredSystem.encode(withKey), share.recordID.recordName])
        }
        let edited = try await #require(try phone.cache.record(for: share.recordID) as? CKShare)
        edited[CKShare.SystemFieldKey.title] = "Mine"
        try await phone.cache.save(edited)
        let store = phone.cache.store
        let batch = try store.nextBatch(itemLimit: 10, bytesLimit: 1_000_000)
        #expect(batch.map(\.change.id) == [id])
        var server = try RecordSnapshot(known)
        if answer != .saved {
            let container = CKContainer(
                identifier: CloudDevice.container, connection: phone.connection)
            known[CKShare.SystemFieldKey.title] = "Theirs"
            server = try RecordSnapshot(try await container.privateCloudDatabase.save(known))
        }
        let answered = try #require(server.system)
        let withoutKey = try system(answered, withKey: nil)
        server.system = withoutKey
        switch answer {
        case .saved:
            _ = try store.confirm(batch, [.saved(withoutKey)], [.confirmed])
        case .conflict:
            let failure = SyncFailure(.serverRecordChanged, message: "Changed.")
            _ = try store.confirm(batch, [.failed(failure, server: server)], [.conflict])
        case .lookup:
            let failure = SyncFailure(.permissionFailure)
            _ = try store.confirm(
                batch, [.failed(failure, server: nil)], [.setAside(failure)])
            let generation = try #require(try store.generationsOfSetAside([id])[id])
            _ = try store.takeInsteadOfSetAside([(id, server, generation)])
        }
        let expected = try system(answered, withKey: 1)
        #expect(try phone.cache.snapshot(id)?.system == expected)
    }

    /// System fields of a share with another key in its link, or without one.
    private func system(
        _ system: RecordSnapshot.SystemFields, withKey key: UInt8?
    ) throws -> RecordSnapshot.SystemFields {
        let json = try JSONSerialization.jsonObject(with: Data(system.sharing ?? []))
        var content = try #require(json as? [String: Any])
        content["linkKey"] = key.map { Data(repeating: $0, count: 32).base64EncodedString() }
        var changed = system
        changed.sharing = [UInt8](
            try JSONSerialization.data(withJSONObject: content, options: .sortedKeys))
        return changed
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
