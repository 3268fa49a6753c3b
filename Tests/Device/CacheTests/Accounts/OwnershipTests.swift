import StratusClient
import StratusRecords
import StratusSync
import StratusTesting
import Testing

@testable import StratusCache

/// A cache's file belongs to one user.
@Suite struct OwnershipTests {
    @Test func otherAccountHaltsSyncWithoutLoss() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try await phone.signIn("bob")
        try phone.save("b", "1")
        try phone.restart()
        let calls = phone.link.callNames.count
        let error = await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(error?.haltReason == .otherAccount)
        #expect(phone.link.callNames.count == calls)
        #expect(try phone.texts().count == 2)
        #expect(try await phone.cache.pendingRecordIDs().map(\.recordName) == ["b"])
        try await phone.signIn("alice")
        try await phone.cache.sync()
        #expect(try await cloud.names() == ["a", "b"])
    }

    @Test(.timeLimit(.minutes(20)))
    func runningLoopHaltsUntilAccountReturns() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        await phone.cache.start()
        try await phone.signIn("bob")
        while try await phone.cache.status().haltReason != .otherAccount { await Task.yield() }
        try phone.save("b", "1")
        try await phone.signIn("alice")
        while try await cloud.names() != ["a", "b"] { await Task.yield() }
        await phone.cache.stop()
    }

    @Test func accountSwitchKeepsRecordsSeparate() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone", user: "alice")
        let bob = try await CloudDevice(cloud, "other", user: "bob")
        try bob.save("his", "1")
        try await bob.cache.sync()
        try phone.save("a", "1")
        try await phone.cache.sync()
        try phone.save("b", "1")
        try await cloud.signIn("bob", on: phone.connection)
        let error = await #expect(throws: CacheError.self) { try await phone.cache.sync() }
        #expect(error?.haltReason == .otherAccount)
        #expect(try phone.texts() == ["a": "1", "b": "1"])
        try await bob.cache.sync()
        #expect(try bob.texts() == ["his": "1"])
        try await cloud.signIn("alice", on: phone.connection)
        try await phone.cache.sync()
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }
}
