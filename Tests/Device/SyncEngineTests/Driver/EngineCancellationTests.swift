import Foundation
import StratusClient
import StratusSync
import StratusTesting
import StratusWire
import Synchronization
import Testing

@testable import StratusSyncEngine

/// Cancelled engines: in every phase, and while other calls wait for their turn.
@Suite(.timeLimit(.minutes(20))) struct EngineCancellationTests {
    /// Where a sync is cancelled: at an event or a request, by its number.
    enum Place: Hashable, Sendable {
        case event(Int)
        case request(Int)
    }

    /// Two devices with changes on both; the phone's first sync is cancelled, the next ones are not.
    ///
    /// - Returns: The number of events and requests of the phone's sync.
    @discardableResult
    private func sync(cancelledAt place: Place?) async throws -> (events: Int, requests: Int) {
        let cloud = TestCloud()
        let phone = try await SwitchableDevice(cloud, "phone", user: "ida")
        let app = phone.app
        let tablet = try await EngineWorld(cloud).app("tablet")
        tablet.makeZone()
        tablet.write("a", "1")
        tablet.write("c", "tablet")
        try await tablet.engine.sendChanges()
        app.engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "Trails"))])
        app.write("a", "2")
        app.write("b", "phone")

        let count = Mutex((events: 0, requests: 0))
        let engine = app.engine
        app.whenEvent { _, _ in
            let number = count.withLock { count in
                defer { count.events += 1 }
                return count.events
            }
            if place == .event(number) { await engine.cancelOperations() }
        }
        phone.transport.beforeRequests { _ in
            let number = count.withLock { count in
                defer { count.requests += 1 }
                return count.requests
            }
            if place == .request(number) { await engine.cancelOperations() }
        }
        var codes: [CKError.Code?] = []
        codes.append(await codeOf { try await engine.sendChanges() })
        codes.append(await codeOf { try await engine.fetchChanges() })
        let counted = count.withLock { $0 }
        #expect(
            codes.allSatisfy { $0 == nil || $0 == .operationCancelled || $0 == .partialFailure })
        checkPairs(app.takeLog())
        try await app.sendAll()
        try await engine.fetchChanges()
        checkPairs(app.takeLog())
        #expect(engine.state.pendingRecordZoneChanges.isEmpty)
        #expect(engine.state.pendingDatabaseChanges.isEmpty)
        #expect(engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
        try await tablet.engine.fetchChanges()
        #expect(
            app.texts == ["a": "2", "b": "phone", "c": "tablet"], "\(String(describing: place))")
        #expect(tablet.texts == app.texts, "\(String(describing: place))")
        return counted
    }

    /// Each "will" event has its "did" event, and none is nested in another of its kind.
    private func checkPairs(_ log: [String]) {
        var open: [String] = []
        for line in log {
            let words = line.split(separator: " ")
            let name =
                words[0].dropFirst(line.hasPrefix("will") ? 4 : 3) + " "
                + (words.last?.split(separator: "!")[0] ?? "")
            if line.hasPrefix("will") {
                open.append(String(name))
            } else if line.hasPrefix("did") {
                #expect(open.popLast() == String(name))
            }
        }
        #expect(open.isEmpty)
    }

    @Test func cancelAtAnyPointLosesNoChange() async throws {
        let whole = try await sync(cancelledAt: nil)
        #expect(whole.events > 10 && whole.requests > 5)
        for number in 0..<whole.events { try await sync(cancelledAt: .event(number)) }
        for number in 0..<whole.requests { try await sync(cancelledAt: .request(number)) }
    }

    @Test func cancelOperationsCancelsWaitingCall() async throws {
        let (phone, _) = try await EngineWorld().pair()
        let gate = AsyncStream.makeStream(of: Void.self)
        let reached = AsyncStream.makeStream(of: Void.self)
        phone.whenEvent { event, _ in
            guard case .willFetchChanges = event else { return }
            reached.continuation.yield()
            for await _ in gate.stream { break }
        }
        phone.write("b", "1")
        let engine = phone.engine
        let fetch = Task { await codeOf { try await engine.fetchChanges() } }
        for await _ in reached.stream { break }
        // A slow delegate blocks the other call without knowing.
        let send = Task { await codeOf { try await engine.sendChanges() } }
        while await engine.driver.openRounds.count < 2 { await Task.yield() }
        await engine.cancelOperations()
        gate.continuation.finish()
        #expect(await fetch.value == .operationCancelled)
        #expect(await send.value == .operationCancelled)
        #expect(phone.takeLog() == ["willFetch manual", "didFetch manual"])
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(hut("b"))])
        phone.whenEvent { _, _ in }
        try await engine.sendChanges()
        #expect(phone.takeLog() == ["willSend manual", "sent +b", "didSend manual"])
    }

    @Test func cancelOfRestingEngineDoesNothing() async throws {
        let (phone, _) = try await EngineWorld().pair()
        await phone.engine.cancelOperations()
        try await phone.engine.fetchChanges()
        #expect(phone.takeLog() == ["willFetch manual", "didFetch manual"])
    }

    /// The service committed the save, but its answer comes after the cancellation. The save stays pending, and the
    /// retry is a conflict with the device's own save.
    @Test func cancelledButCommittedSaveIsNotLost() async throws {
        let cloud = TestCloud()
        let phone = try await SwitchableDevice.sent(to: cloud)
        let app = phone.app
        app.write("a", "1")
        cloud.faults.next(of: RecordsModify.self, .dropConnectionAfterCommit)
        let engine = app.engine
        phone.transport.beforeRequests { path in
            if path == RecordsModify.path { await engine.cancelOperations() }
        }
        #expect(await codeOf { try await engine.sendChanges() } != nil)
        phone.transport.beforeRequests(nil)
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a"))])
        try await app.sendAll()
        let tablet = try await EngineWorld(cloud).app("tablet")
        try await tablet.engine.fetchChanges()
        #expect(tablet.texts == ["a": "1"])
    }
}
