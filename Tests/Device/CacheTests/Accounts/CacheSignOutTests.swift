import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import Testing

@testable import StratusCache

/// A user's records at sign-out, at the next sign-in, and for other users.
@Suite struct CacheSignOutTests {
    private let image = CloudDevice.bytes("image")

    /// Whether a word is found in the cache's file or its log.
    private func finds(_ word: String, _ device: CloudDevice) throws -> Bool {
        try ["", "-wal"].contains { suffix in
            try Data(contentsOf: URL(fileURLWithPath: device.path + suffix))
                .range(of: Data(word.utf8)) != nil
        }
    }

    /// The cache of another process with a device's file, and its link to the service.
    private func otherProcess(
        with phone: Device, _ cloud: RealService
    ) throws -> (link: ServiceLink, cache: CloudCache) {
        let link = ServiceLink(cloud)
        let cache = try CloudCache(
            path: phone.path, remotes: [link.connection().remote()], settings: .quick)
        return (link, cache)
    }

    @Test func signOutSendsPendingChangesAndRemovesAllUntilNextSignIn() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        try phone.save("a", "confidential")
        try phone.savePhoto("photo", image)
        let lost = try await phone.cache.signOut(.sendThenRemove)
        #expect(lost.isEmpty)
        #expect(try await phone.cache.zoneIDs().isEmpty && phone.texts().isEmpty)
        #expect(try phone.assetFiles().isEmpty)
        #expect(try !finds("confidential", phone))
        // The user signs in again the next day.
        try phone.restart()
        try await phone.cache.sync()
        #expect(try phone.texts() == ["a": "confidential"])
        let photo = CKRecord.ID(recordName: "photo", zoneID: .list)
        let asset = try await phone.cache.asset("image", of: photo)
        #expect(try Data(contentsOf: asset.fileURL) == image)
    }

    @Test func offlineSignOutRemovesNothingUnlessForced() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        try phone.save("sent", "1")
        try await phone.cache.sync()
        try phone.save("a", "mine")
        try phone.savePhoto("photo", image)
        try phone.delete("sent")
        for request in 0..<100 { phone.transport.fail(request: request, .requestLost) }
        let error = await #expect(throws: CacheError.self) {
            try await phone.cache.signOut(.sendThenRemove)
        }
        #expect(error?.code == .notSynced)
        #expect(try phone.texts() == ["a": "mine"])
        let kept = try await phone.cache.signOut(.keep)
        #expect(kept.map(\.recordID.recordName) == ["a", "photo", "sent"])
        #expect(try phone.texts() == ["a": "mine"])
        let lost = try await phone.cache.signOut(.remove)
        #expect(lost.map(\.recordID.recordName) == ["a", "photo", "sent"])
        try #require(lost.count == 3)
        #expect(lost[0].record?["text"] == "mine" && lost[2].record == nil)
        let asset: CKAsset? = lost[1].record?["image"]
        #expect(try asset.map { try Data(contentsOf: $0.fileURL) } == image)
        #expect(try phone.texts().isEmpty)
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        phone.transport.endFaults()
        try await phone.cache.sync()
        // Neither the edits nor the deletion were sent.
        #expect(try phone.texts() == ["sent": "1"])
    }

    @Test func refusedChangePreventsSignOut() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        cloud.refuse("a", SyncFailure(.invalidArguments))
        try phone.save("a", "1")
        let error = await #expect(throws: CacheError.self) {
            try await phone.cache.signOut(.sendThenRemove)
        }
        #expect(error?.code == .unsentChanges)
        #expect(try phone.texts() == ["a": "1"])
        #expect(try await phone.cache.status().isRunning == false)
    }

    /// The user goes on, and so does the loop.
    @Test(.timeLimit(.minutes(20)))
    func refusedSignOutDoesNotEndTheLoop() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        cloud.refuse("a", SyncFailure(.invalidArguments))
        await phone.cache.start()
        try phone.save("a", "1")
        let error = await #expect(throws: CacheError.self) {
            try await phone.cache.signOut(.sendThenRemove)
        }
        #expect(error?.code == .unsentChanges)
        try #require(try await phone.cache.status().isRunning)
        try phone.save("b", "1")
        while try await cloud.names() != ["b"] { await Task.yield() }
        await phone.cache.stop()
    }

    @Test func anotherUserGetsAnEmptyFile() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save("hers", "1")
        try await phone.cache.signOut(.sendThenRemove)
        try await phone.signIn("bob")
        try phone.restart()
        #expect(try phone.texts().isEmpty)
        let owner = try CloudCache.userRecordName(ofFileAt: phone.path)
        #expect(owner == nil)
    }

    @Test func recordsMadeWithoutAccountHaltSyncUntilAdopted() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.connection.signOut()
        try phone.save("a", "1")
        try await phone.signIn("bob")
        let error = await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(error?.haltReason == .unclaimedRecords)
        #expect(try await cloud.zones(of: "bob").isEmpty)
        try phone.restart()
        await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        try await phone.cache.adoptLocalRecords()
        try await phone.cache.sync()
        #expect(try await cloud.names(of: "bob") == ["a"])
        // From now on the file is Bob's.
        try phone.connection.signOut()
        try phone.save("b", "1")
        try await phone.signIn("bob")
        try await phone.cache.sync()
        #expect(try await cloud.names(of: "bob") == ["a", "b"])
    }

    @Test func otherProcessObservesTheSignOut() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save("a", "1")
        let other = try CloudCache(
            path: phone.path, remotes: [cloud.remote()], settings: .quick)
        var changes = other.changes().makeAsyncIterator()
        try await phone.cache.signOut(.remove)
        #expect(await changes.next()?.map(\.recordName) == ["a"])
        #expect(try await other.zoneIDs().isEmpty)
        try other.close()
    }

    /// A widget may open only one of the databases.
    @Test func signOutRemovesDatabasesThatTheCacheWasNotOpenedWith() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try phone.save("b", "unsent")
        let widget = try CloudCache(
            path: phone.path, remotes: [cloud.remote(.shared)], settings: .quick)
        let error = await #expect(throws: CacheError.self) {
            try await widget.signOut(.sendThenRemove)
        }
        #expect(error?.code == .unsentChanges)
        #expect(try phone.texts() == ["a": "1", "b": "unsent"])
        let lost = try await widget.signOut(.remove)
        #expect(lost.map(\.recordID.recordName) == ["b"])
        #expect(try phone.texts().isEmpty)
        try widget.close()
    }

    /// The other process syncs, and its answer arrives after the sign-out.
    @Test func otherProcessSyncingDuringSignOutIsHalted() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        let (link, other) = try otherProcess(with: phone, cloud)
        link.duringNextDatabasePage { try await phone.cache.signOut(.remove) }
        let error = await #expect(throws: CacheError.self) { try await other.sync() }
        guard case .account = error?.haltReason else {
            Issue.record("It was not halted: \(String(describing: error))")
            return
        }
        #expect(try await other.zoneIDs().isEmpty)
        #expect(try CloudCache.userRecordName(ofFileAt: phone.path) == nil)
        try other.close()
        // The file now belongs to the next user.
        try await phone.signIn("bob")
        try phone.save("his", "1")
        try await phone.cache.sync()
        #expect(try await cloud.names(of: "bob") == ["his"])
        #expect(try await cloud.names() == ["a"])
    }

    /// The next user saves into a zone of the same name before the answer to the other process arrives.
    @Test func pageThatArrivesAfterASignOutIsNotTheNextUsers() async throws {
        let cloud = RealService()
        let tablet = try await Device.synced(cloud, ["a": "1"])
        let phone = try Device(cloud)
        try await phone.sync()
        let (link, other) = try otherProcess(with: phone, cloud)
        try tablet.save("b", "1")
        try await tablet.sync()
        link.duringNextPage {
            try await phone.cache.signOut(.remove)
            try await phone.signIn("bob")
            try phone.save("his", "1")
        }
        let error = await #expect(throws: CacheError.self) { try await other.sync() }
        #expect(error?.code == .halted)
        try other.close()
        #expect(try phone.texts() == ["his": "1"])
        try await phone.cache.sync()
        #expect(try await cloud.names(of: "bob") == ["his"])
        #expect(try await cloud.names() == ["a", "b"])
    }

    /// The change tag of the former user's save would be one that the service lost in the next user's zone.
    @Test func saveAnsweredAfterASignOutIsNotMissingInTheNextUsersZone() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        let (link, other) = try otherProcess(with: phone, cloud)
        try phone.save("b", "1")
        link.duringNextSend {
            try await phone.cache.signOut(.remove)
            try await phone.signIn("bob")
            try phone.save("his", "1")
        }
        await #expect(throws: CacheError.self) { try await other.sync() }
        try other.close()
        try await phone.cache.sync()
        #expect(try await cloud.names(of: "bob") == ["his"])
        let store = phone.cache.store
        let lossMilliseconds = try store.read { database in
            try store.zone(.list, database)
                .flatMap { try store.lossMilliseconds(in: $0, database) }
        }
        #expect(lossMilliseconds == nil)
    }

    /// The loop of the other process is idle, and gets a hint after the sign-out. It syncs again only when the app asks
    /// for it.
    @Test(.timeLimit(.minutes(20)))
    func loopOfOtherProcessIsHaltedAfterSignOut() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        let other = try CloudCache(
            path: phone.path, remotes: [cloud.remote()], settings: .quick)
        await other.start()
        try await other.sync()
        try await phone.cache.signOut(.remove)
        func isTaken() throws -> Bool {
            try CloudCache.userRecordName(ofFileAt: phone.path) != nil
        }
        await other.fetchSoon()
        while try await other.status().haltReason == nil, try !isTaken() { await Task.yield() }
        #expect(try !isTaken())
        #expect(try await other.zoneIDs().isEmpty)
        try await other.sync()
        #expect(try await other.zoneIDs() == [CKRecordZone.ID(ZoneID.list)])
        await other.stop()
        try other.close()
    }

    /// A download that was under way ends after the file was emptied.
    @Test func lateDownloadDoesNotGiveTheFileBackToTheFormerUser() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let tablet = try await CloudDevice(cloud, "tablet")
        try tablet.savePhoto("photo", image)
        for device in [tablet, phone] { try await device.cache.sync() }
        let id = RecordID(name: "photo", zoneID: .list)
        let store = phone.cache.store
        _ = try await phone.cache.signOut(.remove)
        #expect(try store.read { try store.flag(.userRecordName, $0) } == nil)
        // The record is gone; what matters is whose file it is.
        _ = try? await phone.cache.cachedAssets.fetch(
            .init(scope: .private, id: id, field: "image", key: "none", sizeBytes: 1_000))
        #expect(try store.read { try store.flag(.userRecordName, $0) } == nil)
    }
}
