import StratusCache
import StratusClient
import StratusTesting
import StratusWire
import Testing

/// Deleted, detached and missing zones, in an app whose engine keeps a cache in sync.
@Suite(.timeLimit(.minutes(20))) struct EngineZoneTests {
    /// As with the cache's own syncing: `LateRequestTests.zoneDeletionKeepsZoneRecreatedElsewhere`.
    ///
    /// - Parameter isCarriedOut: Whether the phone's own deletion arrived, without an answer; otherwise the tablet
    ///   deleted the zone first.
    @Test(arguments: [true, false])
    func zoneDeletionKeepsZoneRecreatedElsewhere(_ isCarriedOut: Bool) async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud, ["a": "1"])
        try await phone.cache.deleteZone(.list)
        try phone.store.resume(phone.engine)
        if isCarriedOut {
            cloud.faults(on: "phone").next(of: ZonesModify.self, .dropConnectionAfterCommit)
            await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
        } else {
            try await tablet.cache.deleteZone(.list)
            try tablet.store.resume(tablet.engine)
        }
        try await tablet.sync()
        #expect(try tablet.texts().isEmpty)
        try tablet.save("b", "1")
        try await tablet.sync()
        for app in [phone, tablet, phone] { try await app.sync() }
        for app in [phone, tablet] {
            #expect(try app.texts() == ["b": "1"], "\(app === phone ? "phone" : "tablet")")
        }
    }

    /// An engine that starts without its tokens, as after its user signed out and in again.
    ///
    /// - Parameter isEdited: Whether the phone edits a record of the zone before it fetches anything.
    @Test(arguments: [false, true])
    func zoneDeletedWhileSignedOutStaysDeleted(isEdited: Bool) async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud, ["a": "1"])
        try phone.connection.signOut()
        // The engine learns of the sign-out and drops its tokens.
        await #expect(throws: CKError.self) { try await phone.engine.fetchChanges() }
        try await tablet.cache.deleteZone(.list)
        try tablet.store.resume(tablet.engine)
        try await tablet.sync()
        #expect(try await tablet.cache.zoneIDs().isEmpty)
        if isEdited { try phone.save("a", "2") }
        try await cloud.signIn("alice", on: phone.connection)
        for app in [phone, phone, tablet] { try await app.sync() }
        for app in [phone, tablet] {
            #expect(try app.texts().isEmpty)
            #expect(try await app.cache.zoneIDs().isEmpty)
        }
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
    }

    /// The engine does not fetch zones that the store does not keep, so its token is not ahead of the store.
    @Test(arguments: [false, true])
    func changesOfADetachedZoneAreFetchedOnceItIsAttached(isRestarted: Bool) async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud, ["a": "1", "b": "1", "c": "1"])
        try await phone.cache.detachZone(.list)
        try tablet.save("b", "theirs")
        try tablet.delete("c")
        try tablet.save("d", "theirs")
        for app in [tablet, phone] { try await app.sync() }
        #expect(try phone.texts() == ["a": "1", "b": "1", "c": "1"])
        try await phone.cache.attachZone(.list)
        if isRestarted { try phone.restart() } else { try phone.store.resume(phone.engine) }
        for app in [phone, tablet, phone] { try await app.sync() }
        for app in [phone, tablet] {
            #expect(try app.texts() == ["a": "1", "b": "theirs", "d": "theirs"])
        }
    }

    /// An automatic engine without a reason to fetch: earlier changes are fetched once the app attaches the zone.
    @Test func attachedZoneIsFetchedByAnAutomaticEngine() async throws {
        let clock = TestClock()
        let cloud = TestCloud(clock: clock)
        let tablet = try await EngineDevice(cloud, "tablet")
        try tablet.save("a", "1")
        try await tablet.sync()
        let phone = try await EngineDevice(cloud, "phone", clock: clock)
        func waitForFetch(_ isDone: () async throws -> Bool) async throws {
            for _ in 0..<120 {
                if try await isDone() { return }
                clock.advance(bySeconds: 0.5)
                for _ in 0..<50 { await Task.yield() }
            }
        }
        try await waitForFetch { try phone.texts() == ["a": "1"] }
        try await phone.cache.detachZone(.list)
        try tablet.save("b", "theirs")
        try await tablet.sync()
        try await waitForFetch { !phone.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty }
        #expect(try phone.texts() == ["a": "1"])
        try await phone.cache.attachZone(.list)
        try phone.store.resume(phone.engine)
        try await waitForFetch { try phone.texts().count == 2 }
        #expect(try phone.texts() == ["a": "1", "b": "theirs"])
    }

    /// The zone still exists, and is no longer to be deleted.
    @Test func recordSavedAfterARefusedDeletionStays() async throws {
        let cloud = TestCloud()
        let (phone, tablet) = try await EngineDevice.pair(cloud, ["a": "1"])
        try await phone.cache.deleteZone(.list)
        try phone.store.resume(phone.engine)
        cloud.faults.next(of: ZonesModify.self, .answer(.accessDenied))
        await #expect(throws: CKError.self) { try await phone.engine.sendChanges() }
        #expect(cloud.faults.remaining.isEmpty)
        try phone.save("b", "1")
        for app in [phone, tablet] { try await app.sync() }
        #expect(try tablet.texts()["b"] == "1")
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        try phone.restart()
        for app in [phone, tablet, phone, tablet] { try await app.sync() }
        #expect(try tablet.texts()["b"] == "1")
        #expect(try phone.texts() == tablet.texts())
    }
}
