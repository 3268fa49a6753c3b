import StratusClient
import StratusRecords
import StratusSyncEngine
import StratusTesting
import StratusWire
import Testing

/// When an automatic engine tries again after a failure or a cancellation.
@Suite(.timeLimit(.minutes(20))) struct EngineRetryTests {
    private typealias Scene = AutomaticScene

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
        // Another change makes the engine send again.
        app.write("b", "1")
        await app.waitForLog { log in log.contains { $0.hasPrefix("sent +a") && $0.hasSuffix("+b") }
        }
    }

    @Test func cancelledFirstFetchIsRepeatedOnSchedule() async throws {
        let scene = try await Scene()
        let app = scene.startedToBeCancelled(atNext: ChangesDatabase.path) {}
        await app.waitForLog { $0.contains("didFetch scheduled") }
        // No fetch had been scheduled before this one.
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

    /// Otherwise the loop would repeat the request without a pause.
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

    @Test func changesBehindFailedBatchAreSentAutomatically() async throws {
        let scene = try await Scene()
        let app = await scene.startedWithZone()
        app.resolveNothing()
        for number in 0..<300 { app.write("n\(number)", "x") }
        scene.cloud.faults.next(of: RecordsModify.self, .answer(.accessDenied))
        await scene.clock.waitForSleeper(seconds: 0.1)
        scene.clock.advance(bySeconds: 0.1)
        // The engine sends the rest without another change, and without a pause.
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
}
