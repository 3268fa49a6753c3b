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

/// Engines that sync by themselves, in a time that stands still until the test advances it.
@Suite(.timeLimit(.minutes(5))) struct EngineAutomaticTests {
    private struct Scene {
        let clock = TestClock()
        let cloud: TestCloud
        let phone: SwitchableDevice

        /// - Parameter listens: hears notifications, and the service has the same clock; else nothing
        ///   happens but what the test does, and nobody but the engine sleeps.
        init(user: String? = "ida", listens: Bool = false) async throws {
            cloud = TestCloud(clock: listens ? clock : TestClock())
            phone = try await SwitchableDevice(
                cloud, "phone", user: user, automatically: true, clock: clock, listens: listens)
        }

        /// Starts the engine and waits until it has fetched and rests.
        func started() async -> EngineApp {
            _ = phone.app.engine
            await phone.app.waitForLog { $0.contains("didFetch scheduled") }
            await rest()
            return phone.app
        }

        /// Starts the engine and waits until it has sent a zone.
        func startedWithZone() async -> EngineApp {
            let app = await started()
            app.makeZone()
            await app.waitForLog { $0.contains("didSend scheduled") }
            return app
        }

        /// Starts an engine that is cancelled before its next request of a path.
        func startedToBeCancelled(
            atNext path: String, then body: @escaping @Sendable () async throws -> Void
        ) -> EngineApp {
            let engine = phone.app.engine
            phone.transport.beforeNext(path) {
                await engine.cancelOperations()
                try await body()
            }
            return phone.app
        }

        /// The service notifies of the first change at once, and what follows a second later.
        func serviceTells() async {
            let window = Limits().gatheringSeconds
            await clock.waitForSleeper(seconds: window)
            clock.advance(bySeconds: window)
        }

        /// Waits until the engine sleeps until its next fetch.
        func rest() async { await clock.waitForSleeper(seconds: 890...900) }
    }

    @Test func engineFetchesAtStartAndSendsAddedChanges() async throws {
        let scene = try await Scene()
        let app = await scene.started()
        #expect(app.takeLog() == ["signIn", "willFetch scheduled", "didFetch scheduled"])
        app.makeZone()
        app.write("a", "1")
        // Zones go at once, records wait a little for more of them.
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
        await scene.serviceTells()
        await app.waitForLog { $0.contains("fetched +a") }
        #expect(app.texts == ["a": "1"])
    }

    @Test func retryAfterDelaysScheduledSend() async throws {
        let scene = try await Scene()
        let app = await scene.startedWithZone()
        await scene.rest()
        _ = app.takeLog()
        scene.cloud.faults.next(
            of: RecordsModify.self, .answer(.throttled, retryAfterSeconds: 33))
        app.write("a", "1")
        await scene.clock.waitForSleeper(seconds: 0.1)
        scene.clock.advance(bySeconds: 0.1)
        await app.waitForLog { $0.contains("didSend scheduled") }
        #expect(
            app.takeLog() == [
                "willSend scheduled", "sent +a!requestRateLimited", "didSend scheduled",
            ])
        #expect(app.engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a"))])
        await scene.clock.waitForSleeper(seconds: 33)
        let requests = scene.phone.transport.requests.count
        scene.clock.advance(bySeconds: 32)
        #expect(scene.phone.transport.requests.count == requests)
        scene.clock.advance(bySeconds: 1)
        await app.waitForLog { $0.contains("didSend scheduled") }
        #expect(app.takeLog() == ["willSend scheduled", "sent +a", "didSend scheduled"])
    }

    @Test func backoffGrowsWhileNetworkIsUnavailable() async throws {
        let scene = try await Scene()
        let app = await scene.started()
        scene.phone.transport.goOffline()
        app.makeZone()
        for seconds in [1.0, 2, 4, 8, 16, 30, 30] {
            await app.waitForLog { $0.contains("didSend scheduled") }
            #expect(app.takeLog().contains("sentZones +Huts!networkUnavailable"))
            await scene.clock.waitForSleeper(seconds: seconds)
            if seconds == 30, scene.clock.uptimeSeconds > 60 { scene.phone.transport.goOnline() }
            scene.clock.advance(bySeconds: seconds)
        }
        await app.waitForLog { $0.contains("sentZones +Huts") }
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

    @Test(arguments: [CKError.Code.accountTemporarilyUnavailable, .notAuthenticated, .zoneBusy])
    func failedAccountLookupIsRetried(_ code: CKError.Code) async throws {
        let scene = try await Scene()
        scene.cloud.faults.next(
            2, of: UsersCaller.self,
            .answer(.authenticationFailed, frameworkCode: code))
        let app = scene.phone.app
        app.makeZone()
        for seconds in [1.0, 2] {
            await scene.clock.waitForSleeper(seconds: seconds)
            #expect(app.log == [])
            scene.clock.advance(bySeconds: seconds)
        }
        await app.waitForLog { $0.contains("sentZones +Huts") }
        #expect(app.log.first == "signIn")
    }

    @Test func manualCallsWorkBesideSchedule() async throws {
        let scene = try await Scene()
        let app = await scene.started()
        _ = app.takeLog()
        app.makeZone()
        app.write("a", "1")
        // Nothing waits for more changes when the app asks for it now.
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
        await scene.serviceTells()
        await app.waitForLog { $0.filter { $0 == "didFetch Huts" }.count == 2 }
        #expect(seen.withLock { $0 } == [hutsID])
        #expect(app.engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
    }

    @Test func cancelledSendWaitsForNextChange() async throws {
        let scene = try await Scene()
        let app = await scene.startedWithZone()
        await scene.rest()
        let engine = app.engine
        scene.phone.transport.beforeRequests { path in
            guard path == RecordsModify.path else { return }
            await engine.cancelOperations()
            try await Task.sleep(for: .seconds(60))
        }
        app.write("a", "1")
        await scene.clock.waitForSleeper(seconds: 0.1)
        scene.clock.advance(bySeconds: 0.1)
        await app.waitForLog { $0.contains("sent +a!operationCancelled") }
        scene.phone.transport.beforeRequests(nil)
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a"))])
        // Another change is an occasion.
        app.write("b", "1")
        await app.waitForLog { log in log.contains { $0.hasPrefix("sent +a") && $0.hasSuffix("+b") }
        }
    }

    @Test func cancelledFirstFetchIsRepeatedOnSchedule() async throws {
        let scene = try await Scene()
        let app = scene.startedToBeCancelled(atNext: ChangesDatabase.path) {}
        await app.waitForLog { $0.contains("didFetch scheduled") }
        // There was no fetch yet after which the next was planned.
        await scene.rest()
        _ = app.takeLog()
        scene.clock.advance(bySeconds: 900)
        await app.waitForLog { $0.contains("didFetch scheduled") }
    }

    @Test func cancelledAccountLookupIsRepeatedOnSchedule() async throws {
        let scene = try await Scene()
        let app = scene.startedToBeCancelled(atNext: UsersCaller.path) {
            try await Task.sleep(for: .seconds(60))
        }
        await scene.rest()
        #expect(app.log == [])
        scene.clock.advance(bySeconds: 900)
        await app.waitForLog { $0.contains("didFetch scheduled") }
    }

    /// The clock stands still: an engine that waits now waits for ever.
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

    /// Or the loop would repeat the request without a pause.
    @Test func unrequestedCancellationBacksOff() async throws {
        let scene = try await Scene()
        let app = await scene.started()
        let effect = CloudFaults.Effect.answer(
            .tryAgainLater, frameworkCode: .operationCancelled)
        scene.cloud.faults.next(of: ZonesModify.self, effect)
        scene.cloud.faults.next(of: ChangesDatabase.self, effect)
        app.makeZone()
        await scene.clock.waitForSleeper(seconds: 1)
        scene.clock.advance(bySeconds: 1)
        await app.waitForLog { $0.contains("sentZones +Huts") }
        await scene.clock.waitForSleeper(seconds: 890...900)
        _ = app.takeLog()
        scene.clock.advance(bySeconds: 900)
        await app.waitForLog { $0.contains("didFetch scheduled") }
        await scene.clock.waitForSleeper(seconds: 1...2)
        scene.clock.advance(bySeconds: 2)
        await app.waitForLog { $0.filter { $0 == "didFetch scheduled" }.count == 2 }
        #expect(scene.cloud.faults.remaining.isEmpty)
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

    @Test func changesBehindFailedBatchAreSentAutomatically() async throws {
        let scene = try await Scene()
        let app = await scene.startedWithZone()
        app.resolveNothing()
        for number in 0..<300 { app.write("n\(number)", "x") }
        scene.cloud.faults.next(of: RecordsModify.self, .answer(.accessDenied))
        await scene.clock.waitForSleeper(seconds: 0.1)
        scene.clock.advance(bySeconds: 0.1)
        // Without a further change, and without a pause.
        await app.waitForLog { log in
            log.contains { $0.hasPrefix("sent +n250 ") && !$0.contains("!") }
        }
        #expect(app.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func repeatedlyReaddedFailureIsSlowedDown() async throws {
        let scene = try await Scene()
        let app = await scene.startedWithZone()
        app.resolveNothing()
        app.whenEvent { event, engine in
            guard case .sentRecordZoneChanges(let sent) = event else { return }
            engine.state.add(
                pendingRecordZoneChanges: sent.failedRecordSaves.map {
                    .saveRecord($0.record.recordID)
                })
        }
        scene.cloud.faults.next(100, of: RecordsModify.self, .answer(.accessDenied))
        app.write("a", "2")
        for _ in 0..<20 {
            await scene.clock.waitForSleeper(seconds: 0.1)
            scene.clock.advance(bySeconds: 0.1)
        }
        await scene.clock.waitForSleeper(seconds: 1)
        #expect(scene.cloud.faults.remaining.first?.times == 80)
        #expect(app.engine.state.pendingRecordZoneChanges.count == 1)
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
