import Foundation
import StratusClient
import StratusRecords
import StratusService
import StratusSync
import StratusSyncEngine
import StratusTesting
import StratusWire
import Synchronization
import Testing

/// Engines that sync automatically, with a clock that only the test advances.
@Suite(.timeLimit(.minutes(20))) struct EngineAutomaticTests {
    private typealias Scene = AutomaticScene

    @Test func engineFetchesAtStartAndSendsAddedChanges() async throws {
        let scene = try await Scene()
        let app = await scene.started()
        #expect(app.takeLog() == ["signIn", "willFetch scheduled", "didFetch scheduled"])
        app.makeZone()
        app.write("a", "1")
        // Zones are sent at once; records wait briefly for more of them.
        await app.waitForLog { $0.contains("sentZones +Huts") }
        await scene.clock.waitForSleeper(seconds: 0.1)
        app.write("b", "2")
        scene.clock.advance(bySeconds: 0.1)
        await app.waitForLog { $0.contains("sent +a +b") }
        #expect(app.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func engineCreatesSubscriptionOnce() async throws {
        let scene = try await Scene()
        let app = await scene.started()
        let made = try await app.database.allSubscriptions()
        #expect(made.map(\.subscriptionID) == ["stratus-sync-engine-2"])
        #expect(made.first is CKDatabaseSubscription)
        let creations = scene.phone.transport.requests.filter { $0 == SubscriptionsModify.path }
        #expect(creations.count == 1)
        app.restart()
        _ = app.takeLog()
        _ = await scene.started()
        let tablet = try await SwitchableDevice(
            scene.cloud, "tablet", user: "ida", automatically: true, clock: scene.clock)
        _ = tablet.app.engine
        await tablet.app.waitForLog { $0.contains("didFetch scheduled") }
        #expect(!tablet.transport.requests.contains(SubscriptionsModify.path))
        #expect(
            scene.phone.transport.requests.filter { $0 == SubscriptionsModify.path }.count == 1)
    }

    @Test func configuredSubscriptionIDIsUsed() async throws {
        let world = EngineWorld()
        let app = try await world.app("phone")
        var configuration = CKSyncEngine.Configuration(
            database: app.database, stateSerialization: nil, delegate: app)
        configuration.subscriptionID = "huts"
        let engine = CKSyncEngine(configuration)
        await app.waitForLog { $0.contains("didFetch scheduled") }
        let made = try await app.database.allSubscriptions()
        #expect(made.map(\.subscriptionID) == ["huts"])
        withExtendedLifetime(engine) {}
    }

    @Test func notificationStartsFetch() async throws {
        let scene = try await Scene(listens: true)
        let app = await scene.started()
        let tablet = try await EngineWorld(scene.cloud).app("tablet")
        _ = app.takeLog()
        tablet.makeZone()
        tablet.write("a", "1")
        try await tablet.engine.sendChanges()
        await scene.serviceNotifies()
        await app.waitForLog { $0.contains("fetched +a") }
        #expect(app.texts == ["a": "1"])
    }

    @Test func signInStartsAutomaticSync() async throws {
        let scene = try await Scene(user: nil)
        let app = scene.phone.app
        app.makeZone()
        app.write("a", "1")
        #expect(app.log == [])
        try await scene.phone.become("ida")
        await app.waitForLog { $0.contains("didFetch scheduled") }
        await scene.clock.waitForSleeper(seconds: 0.1)
        scene.clock.advance(bySeconds: 0.1)
        await app.waitForLog { $0.contains("sent +a") }
        await scene.rest()
        try await scene.phone.become("bo")
        await app.waitForLog { $0.contains("switchAccounts") }
        await app.waitForLog { $0.last == "didFetch scheduled" }
        #expect(app.texts.isEmpty)
    }

    @Test func manualCallsWorkBesideSchedule() async throws {
        let scene = try await Scene()
        let app = await scene.started()
        _ = app.takeLog()
        app.makeZone()
        app.write("a", "1")
        // A manual send does not wait for more changes.
        try await app.engine.sendChanges()
        #expect(app.log.contains { $0.hasPrefix("sent ") })
        #expect(app.engine.state.pendingRecordZoneChanges.isEmpty)
        try await app.engine.fetchChanges()
        #expect(app.log.contains("didFetch manual"))
    }

    @Test func zoneExcludedByDelegateWaitsForNextFetch() async throws {
        let scene = try await Scene()
        let tablet = try await EngineWorld(scene.cloud).app("tablet")
        tablet.makeZone()
        try await tablet.engine.sendChanges()
        scene.phone.app.options { _ in .init(scope: .allExcluding([hutsID])) }
        let app = await scene.started()
        #expect(app.engine.state.zoneIDsWithUnfetchedServerChanges == [hutsID])
        #expect(app.takeLog().filter { $0 == "willFetch scheduled" }.count == 1)
        app.options(nil)
        scene.clock.advance(bySeconds: 900)
        await app.waitForLog { $0.contains("didFetch Huts") }
    }

    @Test func notificationListsZonesWithUnfetchedChanges() async throws {
        let scene = try await Scene(listens: true)
        let tablet = try await EngineWorld(scene.cloud).app("tablet")
        tablet.makeZone()
        tablet.write("a", "1")
        try await tablet.engine.sendChanges()
        let app = await scene.started()
        let seen = Mutex<[CKRecordZone.ID]>([])
        app.whenEvent { event, engine in
            guard case .willFetchRecordZoneChanges = event else { return }
            seen.withLock { $0 = engine.state.zoneIDsWithUnfetchedServerChanges }
        }
        tablet.write("a", "2")
        try await tablet.engine.sendChanges()
        await scene.serviceNotifies()
        await app.waitForLog { $0.filter { $0 == "didFetch Huts" }.count == 2 }
        #expect(seen.withLock { $0 } == [hutsID])
        #expect(app.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
    }

    /// The clock stands still, so an engine that waited would never go on.
    @Test func accountChangeDuringLookupCostsNoDelay() async throws {
        let scene = try await Scene()
        scene.phone.transport.beforeNext(UsersCaller.path) {
            try await scene.phone.become("bo")
        }
        let app = scene.phone.app
        _ = app.engine
        await app.waitForLog { $0.contains("didFetch scheduled") }
        #expect(app.log == ["signIn", "willFetch scheduled", "didFetch scheduled"])
        #expect(scene.clock.uptimeSeconds == 0)
    }

    @Test func resolvedConflictIsSentAgainAutomatically() async throws {
        let scene = try await Scene()
        let tablet = try await EngineWorld(scene.cloud).app("tablet")
        tablet.makeZone()
        tablet.write("a", "1")
        try await tablet.engine.sendChanges()
        let app = await scene.started()
        tablet.write("a", "2")
        try await tablet.engine.sendChanges()
        _ = app.takeLog()
        app.write("a", "3")
        for _ in 0..<2 {
            await scene.clock.waitForSleeper(seconds: 0.1)
            scene.clock.advance(bySeconds: 0.1)
        }
        await app.waitForLog { $0.contains("sent +a") }
        await app.waitForLog { $0.last == "didSend scheduled" }
        #expect(
            app.takeLog() == [
                "willSend scheduled", "sent +a!serverRecordChanged", "didSend scheduled",
                "willSend scheduled", "sent +a", "didSend scheduled",
            ])
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["a": "3"])
    }

    /// Another device writes while the app handles each page, and the service notifies the engine at once.
    @Test func writesDuringEveryFetchDoNotKeepChangesFromBeingSent() async throws {
        let scene = try await Scene()
        let app = await scene.startedWithZone()
        let tablet = try await EngineWorld(scene.cloud).app("tablet")
        tablet.write("a", "0")
        try await tablet.engine.sendChanges()
        let count = Mutex(0)
        app.whenEvent { event, engine in
            guard case .fetchedRecordZoneChanges = event else { return }
            let number = count.withLock { count in
                count += 1
                return count
            }
            if number == 1 { app.write("own", "1") }
            // The time that a change waits for further ones has passed.
            if number == 2 { scene.clock.advance(bySeconds: 0.2) }
            guard number <= 10 else { return }
            tablet.write("a", "\(number)")
            do {
                try await tablet.engine.sendChanges()
            } catch {
                Issue.record(error)
            }
            await engine.fetchSoon(ZoneID(hutsID))
        }
        await app.engine.fetchSoon(ZoneID(hutsID))
        await app.waitForLog { $0.contains("sent +own") }
        let before = app.log.prefix { $0 != "sent +own" }
        #expect(before.count { $0.hasPrefix("fetched ") } == 2)
        app.whenEvent { _, _ in }
    }

    /// Another device writes while the app handles each page, and the service notifies the engine at once.
    @Test func fetchByHandEndsAlthoughOthersWriteDuringEachFetch() async throws {
        let scene = try await Scene()
        let app = await scene.startedWithZone()
        let tablet = try await EngineWorld(scene.cloud).app("tablet")
        let count = Mutex(0)
        app.whenEvent { event, engine in
            let isNext: Bool = count.withLock { count in
                switch event {
                case .willFetchChanges(let will): return will.context.reason == .manual
                case .fetchedRecordZoneChanges where count < 3: count += 1
                default: return false
                }
                return true
            }
            guard isNext else { return }
            tablet.write("a", "\(count.withLock { $0 })")
            do {
                try await tablet.engine.sendChanges()
            } catch {
                Issue.record(error)
            }
            await engine.fetchSoon(ZoneID(hutsID))
        }
        try await app.engine.fetchChanges()
        let log = app.log.drop { $0 != "willFetch manual" }.prefix { $0 != "didFetch manual" }
        #expect(log.count { $0.hasPrefix("fetched ") } == 1, "\(log)")
        // The engine fetches the rest.
        await app.waitForLog { log in
            log.count { $0.hasPrefix("fetched ") } == 4 && log.last == "didFetch scheduled"
        }
        #expect(app.texts == ["a": "3"])
        app.whenEvent { _, _ in }
    }

    @Test func releasedEngineStopsRequests() async throws {
        let scene = try await Scene()
        let app = await scene.started()
        let requests = scene.phone.transport.requests.count
        weak let engine = app.engine
        app.restart()
        #expect(engine == nil)
        scene.clock.advance(bySeconds: 10_000)
        #expect(scene.phone.transport.requests.count == requests)
    }
}
