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

/// What an engine still has after a restart.
@Suite struct EngineStateTests {
    private typealias Serialization = CKSyncEngine.State.Serialization

    /// The last state that an app got after a few changes.
    private func someState() async throws -> Data {
        let (phone, _) = try await EngineWorld().pair()
        phone.write("b", "2")
        phone.erase("a")
        phone.engine.state.add(
            pendingDatabaseChanges: [
                .saveZone(CKRecordZone(zoneName: "Trails")),
                .deleteZone(CKRecordZone.ID(zoneName: "Lakes")),
            ])
        phone.engine.state.hasPendingUntrackedChanges = true
        // A state update also comes by itself within a tenth of a second, without a sync.
        phone.batch { _ in nil }
        try await phone.engine.sendChanges(.init(scope: .recordIDs([])))
        return try #require(phone.file.engineState)
    }

    @Test func stateRoundTripsAsJSONAndPropertyList() async throws {
        let data = try await someState()
        let state = try JSONDecoder().decode(Serialization.self, from: data)
        let list = try PropertyListEncoder().encode(state)
        let again = try PropertyListDecoder().decode(Serialization.self, from: list)
        let app = try await EngineWorld().app("phone")
        var configuration = CKSyncEngine.Configuration(
            database: app.database, stateSerialization: again, delegate: app)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        #expect(
            engine.state.pendingRecordZoneChanges == [
                .saveRecord(hut("b")), .deleteRecord(hut("a")),
            ])
        #expect(
            engine.state.pendingDatabaseChanges == [
                .saveZone(CKRecordZone(zoneName: "Trails")),
                .deleteZone(CKRecordZone.ID(zoneName: "Lakes")),
            ])
        #expect(engine.state.hasPendingUntrackedChanges)
    }

    /// A zone's encryption scope cannot be changed later, so a pending zone must keep it over a restart.
    @Test func encryptionScopeOfPendingZoneSurvivesRestart() async throws {
        let world = EngineWorld()
        let phone = try await world.app("phone")
        let zone = CKRecordZone(zoneName: "Vault")
        zone.encryptionScope = .perZone
        phone.engine.state.add(
            pendingDatabaseChanges: [.saveZone(zone), .saveZone(CKRecordZone(zoneName: "Lakes"))])
        phone.batch { _ in nil }
        try await phone.engine.sendChanges(.init(scope: .recordIDs([])))
        let data = try #require(phone.file.engineState)
        let state = try JSONDecoder().decode(Serialization.self, from: data)

        let app = EngineApp(phone.database)
        var configuration = CKSyncEngine.Configuration(
            database: phone.database, stateSerialization: state, delegate: app)
        configuration.automaticallySync = false
        let engine = CKSyncEngine(configuration)
        try await engine.sendChanges()
        let zones = try await phone.database.allRecordZones()
        #expect(
            Dictionary(uniqueKeysWithValues: zones.map { ($0.zoneID.zoneName, $0.encryptionScope) })
                == ["Vault": .perZone, "Lakes": .perRecord, "_defaultZone": .perRecord])
    }

    @Test func damagedOrForeignStateThrows() async throws {
        let data = try await someState()
        let text = String(decoding: data, as: UTF8.self)
        for (from, to) in [
            ("\"version\":1", "\"version\":2"), ("\"zone\":0", "\"zone\":99"),
            ("\"kind\":0", "\"kind\":7"), ("{", "["), ("\"zones\":", "\"zonez\":"),
        ] {
            #expect(text.contains(from))
            let damaged = Data(text.replacingOccurrences(of: from, with: to).utf8)
            #expect(throws: (any Error).self) {
                try JSONDecoder().decode(Serialization.self, from: damaged)
            }
        }
        // Truncated or damaged at any byte, a state may throw an error but must not trap.
        for length in 0..<data.count {
            // Whether it throws does not matter.
            _ = try? JSONDecoder().decode(Serialization.self, from: data.prefix(length))
            var bent = data
            bent[length] ^= 0x15
            // As above.
            _ = try? JSONDecoder().decode(Serialization.self, from: bent)
        }
    }

    /// The process may be killed while the service does not answer.
    @Test(.timeLimit(.minutes(20)))
    func changeDuringARequestIsReportedBeforeItsAnswer() async throws {
        let (phone, app) = try await SwitchableDevice.sentAndReceived()
        let isReported = Mutex(false)
        phone.transport.beforeNext(RecordsModify.path) {
            app.write("b", "1")
            var seen: Data?
            while !isReported.withLock({ $0 }) {
                await Task.yield()
                let file = app.file
                guard file.engineState != seen else { continue }
                seen = file.engineState
                // The next process starts from the file.
                let next = EngineApp(app.database, file: file)
                let pending = next.engine.state.pendingRecordZoneChanges
                isReported.withLock { $0 = pending.contains(.saveRecord(hut("b"))) }
            }
        }
        app.write("a", "1")
        try await app.engine.sendChanges()
        #expect(isReported.withLock { $0 })
    }

    /// The process may be killed during the request that follows a call of the delegate.
    @Test func changeInACallOfTheDelegateIsReportedBeforeTheNextRequest() async throws {
        let (phone, app) = try await SwitchableDevice.sentAndReceived()
        // The stored pending changes at the first request to each path.
        let stored = Mutex<[String: [CKSyncEngine.PendingRecordZoneChange]]>([:])
        phone.transport.beforeRequests { path in
            // The next process starts from the file.
            let next = EngineApp(app.database, file: app.file)
            let pending = next.engine.state.pendingRecordZoneChanges
            stored.withLock { $0[path] = $0[path] ?? pending }
        }
        app.write("a", "1")
        app.batch { _ in
            app.batch(nil)
            app.write("b", "1")
            return app.record(hut("a")).map { .init(recordsToSave: [$0]) }
        }
        try await app.engine.sendChanges()
        app.options { context in
            app.options(nil)
            app.write("c", "1")
            return context.options
        }
        app.whenEvent { event, _ in
            guard case .willFetchRecordZoneChanges = event else { return }
            app.write("d", "1")
        }
        try await app.engine.fetchChanges()
        app.whenEvent { _, _ in }
        let found = stored.withLock { $0 }
        #expect(found[RecordsModify.path]?.contains(.saveRecord(hut("b"))) == true)
        #expect(found[ChangesDatabase.path]?.contains(.saveRecord(hut("c"))) == true)
        #expect(found[ChangesDatabase.path]?.contains(.saveRecord(hut("d"))) == false)
        #expect(found[ChangesZone.path]?.contains(.saveRecord(hut("d"))) == true)
    }

    @Test func stateUpdateFollowsAddedChangesWithoutSync() async throws {
        let clock = TestClock()
        let world = EngineWorld(TestCloud(clock: clock))
        let phone = try await world.app("phone", clock: clock)
        let received = AsyncStream.makeStream(of: Int.self)
        phone.whenEvent { event, engine in
            guard case .stateUpdate = event else { return }
            received.continuation.yield(engine.state.pendingRecordZoneChanges.count)
        }
        phone.write("a", "1")
        phone.write("b", "1")
        await clock.waitForSleeper(seconds: 0.1)
        clock.advance(bySeconds: 0.1)
        var counts = received.stream.makeAsyncIterator()
        // One update for both changes.
        #expect(await counts.next() == 2)
    }

    /// Event handlers often add an empty list of changes. If that counted as a change, each event would wake an
    /// automatic engine, also one that was just cancelled.
    @Test func ineffectiveChangeSendsNoStateUpdate() async throws {
        let (phone, _) = try await EngineWorld().pair()
        try await phone.engine.sendChanges()
        let count = Mutex(0)
        phone.whenEvent { event, _ in
            if case .stateUpdate = event { count.withLock { $0 += 1 } }
        }
        let state = phone.engine.state
        state.add(pendingRecordZoneChanges: [])
        state.add(pendingDatabaseChanges: [])
        state.remove(pendingRecordZoneChanges: [.saveRecord(hut("never added"))])
        state.remove(pendingDatabaseChanges: [.deleteZone(hutsID)])
        state.hasPendingUntrackedChanges = false
        try await phone.engine.sendChanges()
        #expect(count.withLock { $0 } == 0)
        state.add(pendingRecordZoneChanges: [.saveRecord(hut("a"))])
        state.remove(pendingRecordZoneChanges: [.saveRecord(hut("a"))])
        try await phone.engine.sendChanges()
        #expect(count.withLock { $0 } == 1)
    }

    /// The process ends after any of its events, and another one continues from its file.
    @Test func restartAtAnyEventLosesNothing() async throws {
        // The number of events after which the process can end.
        let whole = try await run(dyingAfter: .max)
        #expect(whole.eventCount > 10)
        for point in 0..<whole.eventCount {
            let outcome = try await run(dyingAfter: point)
            #expect(outcome.texts == whole.texts, "after event \(point)")
            #expect(outcome.theirs == whole.texts, "after event \(point)")
        }
    }

    private func run(
        dyingAfter point: Int
    ) async throws -> (texts: [String: String], theirs: [String: String], eventCount: Int) {
        let world = EngineWorld()
        let (first, tablet) = try await world.pair()
        tablet.write("c", "tablet")
        tablet.write("a", "9")
        try await tablet.engine.sendChanges()

        var app = first
        app.write("b", "phone")
        app.write("a", "5")
        let count = Mutex(0)
        let corpse = Mutex<EngineApp.File?>(nil)
        app.whenEvent { [weak app] _, engine in
            let reached = count.withLock { count in
                defer { count += 1 }
                return count == point
            }
            // The next process has only this file; the rest of this run does not count.
            if reached, let app { corpse.withLock { $0 = app.file } }
        }
        // The edits are stored before the process can end.
        try await app.engine.sendChanges(.init(scope: .recordIDs([])))
        count.withLock { $0 = 0 }
        corpse.withLock { $0 = nil }
        try await app.sendAll()
        try await app.engine.fetchChanges()
        let eventCount = count.withLock { $0 }
        if let file = corpse.withLock({ $0 }) {
            app = EngineApp(app.database, file: file)
            try await app.sendAll()
            try await app.engine.fetchChanges()
        }
        #expect(app.engine.state.pendingRecordZoneChanges.isEmpty)
        try await tablet.engine.fetchChanges()
        return (app.texts, tablet.texts, eventCount)
    }

    @Test func inFlightChangeIsSentAgainAfterRestart() async throws {
        let phone = try await SwitchableDevice.sent()
        let app = phone.app
        app.write("a", "1")
        let file = Mutex<EngineApp.File?>(nil)
        phone.transport.beforeRequests { path in
            guard path == RecordsModify.path else { return }
            file.withLock { $0 = app.file }
        }
        app.batch { _ in
            app.batch { _ in nil }
            return app.record(hut("a")).map { .init(recordsToSave: [$0]) }
        }
        try await app.engine.sendChanges()
        phone.transport.beforeRequests(nil)
        let restored = EngineApp(app.database, file: try #require(file.withLock { $0 }))
        #expect(restored.engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a"))])
        // The save was committed: the retry is a conflict with the device's own save, which the app resolves.
        try await restored.sendAll()
        #expect(restored.engine.state.pendingRecordZoneChanges.isEmpty)
    }

    @Test func cancelOperationsKeepsChangesPending() async throws {
        let (phone, app) = try await SwitchableDevice.sentAndReceived()
        app.write("a", "1")
        let engine = app.engine
        phone.transport.beforeRequests { path in
            guard path == RecordsModify.path else { return }
            await engine.cancelOperations()
            try await Task.sleep(for: .seconds(60))
        }
        #expect(await codeOf { try await app.engine.sendChanges() } == .operationCancelled)
        #expect(
            app.takeLog() == ["willSend manual", "sent +a!operationCancelled", "didSend manual"])
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a"))])
        phone.transport.beforeRequests(nil)
        try await engine.sendChanges()
        #expect(app.takeLog() == ["willSend manual", "sent +a", "didSend manual"])
    }

    @Test func cancelledTaskCancelsItsSend() async throws {
        let phone = try await SwitchableDevice.sent()
        let app = phone.app
        app.write("a", "1")
        let (starts, start) = AsyncStream.makeStream(of: Bool.self)
        phone.transport.beforeRequests { path in
            guard path == RecordsModify.path else { return }
            start.yield(true)
            try await Task.sleep(for: .seconds(60))
        }
        let engine = app.engine
        let task = Task { try await engine.sendChanges() }
        var iterator = starts.makeAsyncIterator()
        _ = await iterator.next()
        task.cancel()
        #expect(await codeOf { try await task.value } == .operationCancelled)
        #expect(engine.state.pendingRecordZoneChanges == [.saveRecord(hut("a"))])
    }
}
