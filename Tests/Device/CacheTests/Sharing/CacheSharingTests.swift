import Foundation
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusCache

/// Sharing through the cache, by the owner and by a participant.
@Suite struct CacheSharingTests {
    private let root = CKRecord.ID(recordName: "root", zoneID: .list)

    private func devices() async throws -> (alice: CloudDevice, bo: CloudDevice) {
        let cloud = TestCloud()
        let alice = try await CloudDevice(cloud, "phone", user: "alice@example.org")
        let bo = try await CloudDevice(cloud, "tablet", user: "bo@example.org")
        try await bo.cache.sync()
        try alice.save("root", "1")
        return (alice, bo)
    }

    /// Alice shares a zone with everyone who has the link, and Bo joins it.
    private func joinedZone(
        _ cloud: TestCloud
    ) async throws -> (
        alice: CloudDevice, bo: CloudDevice, share: CKShare, zone: CKRecordZone.ID
    ) {
        let alice = try await CloudDevice(cloud, "phone", user: "alice@example.org")
        let bo = try await CloudDevice(cloud, "tablet", user: "bo@example.org")
        try alice.save("root", "1")
        let share = try await alice.cache.shareZone(.list)
        try await alice.cache.changeShare(share.recordID) { $0.publicPermission = .readWrite }
        let zone = try await bo.cache.acceptShare(at: try #require(share.url))
        return (alice, bo, share, zone)
    }

    private func goOffline(_ device: CloudDevice) {
        for request in 0..<200 { device.transport.fail(request: request, .requestLost) }
    }

    @Test func participantEditsSharedRecordAndLeavesOffline() async throws {
        let (alice, bo) = try await devices()
        let share = try await alice.cache.share(root)
        #expect(try await alice.cache.share(root).recordID == share.recordID)
        let invited = try await alice.cache.invite(
            emailAddresses: ["bo@example.org"], to: share.recordID, permission: .readWrite)
        let kept = try await #require(try alice.cache.record(for: share.recordID) as? CKShare)
        #expect(kept.participants.count == 2)
        let zone = try await bo.cache.acceptShare(at: try #require(invited.url))
        #expect(try await bo.cache.zoneIDs(in: .shared) == [zone])
        let id = CKRecord.ID(recordName: "root", zoneID: zone)
        let theirs = try await #require(try bo.cache.record(for: id, in: .shared))
        #expect(theirs["text"] == "1")
        theirs["text"] = "2"
        try await bo.cache.save(theirs, in: .shared)
        try await bo.cache.sync()
        try await alice.cache.sync()
        #expect(try alice.texts() == ["root": "2"])
        goOffline(bo)
        try await bo.cache.leaveShare(inZoneWith: zone)
        #expect(try await bo.cache.zoneIDs(in: .shared).isEmpty)
        bo.transport.endFaults()
        try await bo.cache.sync()
        try await alice.cache.sync()
        let left = try await #require(try alice.cache.record(for: share.recordID) as? CKShare)
        #expect(
            left.participants.allSatisfy { $0.role == .owner || $0.acceptanceStatus != .accepted })
        #expect(try alice.texts() == ["root": "2"])
    }

    /// A participant who leaves a zone deletes nothing in it, also if the service then loses history and the person
    /// joins again.
    @Test func recordsOfALeftZoneStayWhenItIsJoinedAgainAfterTokensExpire() async throws {
        let cloud = TestCloud()
        let (alice, bo, share, zone) = try await joinedZone(cloud)
        try await bo.cache.sync()
        try await bo.cache.leaveShare(inZoneWith: zone)
        try await bo.cache.sync()
        // One fault for each database.
        cloud.faults.next(2, of: ChangesDatabase.self, .expireChangeTokens)
        try await bo.cache.sync()
        _ = try await bo.cache.acceptShare(at: try #require(share.url))
        try await bo.cache.sync()
        try await alice.cache.sync()
        #expect(try alice.texts() == ["root": "1"])
    }

    /// The later of two actions counts: the service does not know yet that the user left.
    @Test func acceptAfterOfflineLeaveJoinsTheShare() async throws {
        let (alice, bo, share, zone) = try await joinedZone(TestCloud())
        let url = try #require(share.url)
        goOffline(bo)
        try await bo.cache.leaveShare(inZoneWith: zone)
        bo.transport.endFaults()
        #expect(try await bo.cache.acceptShare(at: url) == zone)
        #expect(try await bo.cache.zoneIDs(in: .shared) == [zone])
        let id = CKRecord.ID(recordName: "root", zoneID: zone)
        #expect(try await bo.cache.record(for: id, in: .shared)?["text"] == "1")
        try await alice.cache.sync()
        let kept = try await #require(try alice.cache.record(for: share.recordID) as? CKShare)
        #expect(
            kept.participants.contains { $0.role != .owner && $0.acceptanceStatus == .accepted })
    }

    /// The user leaves the zone while accepting its share has not returned: the later action counts.
    @Test func leaveDuringAcceptLeavesTheShare() async throws {
        let (alice, bo, share, zone) = try await joinedZone(TestCloud())
        let url = try #require(share.url)
        try await bo.cache.leaveShare(inZoneWith: zone)
        try await bo.cache.sync()
        let isLeft = Mutex(false)
        bo.transport.tap { [cache = bo.cache] _, answer in
            guard answer is ChangesZone.Answer, !isLeft.withLock({ $0 }) else { return answer }
            isLeft.withLock { $0 = true }
            await #expect(throws: Never.self) { try await cache.leaveShare(inZoneWith: zone) }
            return answer
        }
        try await bo.cache.acceptShare(at: url)
        #expect(isLeft.withLock { $0 })
        try await bo.cache.sync()
        #expect(try await bo.cache.zoneIDs(in: .shared).isEmpty)
        try await alice.cache.sync()
        let kept = try await #require(try alice.cache.record(for: share.recordID) as? CKShare)
        #expect(
            kept.participants.allSatisfy { $0.role == .owner || $0.acceptanceStatus != .accepted })
    }

    @Test func ownerStopsSharingOffline() async throws {
        let (alice, bo) = try await devices()
        let share = try await alice.cache.shareZone(.list)
        try await alice.cache.changeShare(share.recordID) { $0.publicPermission = .readOnly }
        let zone = try await bo.cache.acceptShare(at: try #require(share.url))
        #expect(
            try await bo.cache.records(inZoneWith: zone, in: .shared).contains { $0["text"] == "1" }
        )
        goOffline(alice)
        try await alice.cache.stopSharing(share.recordID)
        alice.transport.endFaults()
        try await alice.cache.sync()
        try await bo.cache.sync()
        #expect(try await bo.cache.zoneIDs(in: .shared).isEmpty)
        #expect(try alice.texts() == ["root": "1"])
    }

    /// The service's refusal is thrown to the caller, and leaves nothing in the queue.
    @Test(arguments: [
        FrameworkErrorCode.participantMayNeedVerification, .alreadyShared, .tooManyParticipants,
        .participantAlreadyInvited,
    ])
    func refusalIsThrownToTheCallerOfASharingCall(code: FrameworkErrorCode) async throws {
        let cloud = TestCloud()
        let alice = try await CloudDevice(cloud, "phone", user: "alice@example.org")
        let bo = try await CloudDevice(cloud, "tablet", user: "bo@example.org")
        try alice.save("root", "1")
        try await alice.cache.sync()
        cloud.faults.next(of: RecordsModify.self, .answer(.badRequest, frameworkCode: code))
        let refusal = await #expect(throws: CacheError.self) { try await alice.cache.share(root) }
        #expect(refusal?.failure?.code == code)
        let share = try await alice.cache.share(root)
        cloud.faults.next(of: RecordsModify.self, .answer(.badRequest, frameworkCode: code))
        let uninvited = await #expect(throws: CacheError.self) {
            try await alice.cache.invite(
                emailAddresses: ["bo@example.org"], to: share.recordID, permission: .readWrite)
        }
        #expect(uninvited?.failure?.code == code)
        let invited = try await alice.cache.invite(
            emailAddresses: ["bo@example.org"], to: share.recordID, permission: .readWrite)
        let link = try #require(invited.url)
        cloud.faults.next(of: RecordsAccept.self, .answer(.badRequest, frameworkCode: code))
        let outside = await #expect(throws: CacheError.self) {
            try await bo.cache.acceptShare(at: link)
        }
        #expect(outside?.failure?.code == code)
        #expect(cloud.faults.remaining.isEmpty)
        for device in [alice, bo] {
            #expect(try await device.cache.attentionItems().isEmpty)
            #expect(try await device.cache.status().pendingCount == 0)
        }
        #expect(try await bo.cache.zoneIDs(in: .shared).isEmpty)
    }

    @Test func sharingCallsOfflineThrowNotSynced() async throws {
        let (alice, _) = try await devices()
        goOffline(alice)
        let error = await #expect(throws: CacheError.self) { try await alice.cache.share(root) }
        #expect(error?.code == .notSynced)
        let link = try #require(URL(string: "https://stratus.invalid/share/0"))
        let refusal = await #expect(throws: CacheError.self) {
            try await alice.cache.acceptShare(at: link)
        }
        #expect(refusal?.code == .notSynced)
        #expect(try alice.texts() == ["root": "1"])
    }
}
