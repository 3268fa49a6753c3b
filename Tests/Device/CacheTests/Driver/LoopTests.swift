import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import Synchronization
import Testing

@testable import StratusCache

/// The running loop, its switch, and the results of a sync.
@Suite(.timeLimit(.minutes(20))) struct LoopTests {
    /// Starts a loop whose first upload waits at a gate, and begins to stop it there.
    private func stopWhileSending(_ phone: Device) async throws -> (Gate, Task<Void, Never>) {
        let gate = Gate()
        phone.link.duringNextSend { await gate.pass() }
        try phone.save("a", "1")
        await phone.cache.start()
        while !gate.isReached { await Task.yield() }
        let stopping = Task { [phone] in await phone.cache.stop() }
        while try await phone.cache.status(in: .private).isRunning { await Task.yield() }
        return (gate, stopping)
    }

    @Test func startDuringStopRestartsLoop() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let (gate, stopping) = try await stopWhileSending(phone)
        await phone.cache.start()
        gate.open()
        await stopping.value
        #expect(try await phone.cache.status().isRunning)
        try phone.save("b", "1")
        while try await cloud.names() != ["a", "b"] { await Task.yield() }
        await phone.cache.stop()
    }

    @Test func startDuringStopRestartsLoopsOfBothDatabases() async throws {
        let cloud = RealService()
        let phone = try Device(cloud, otherScopes: [.shared])
        let (gate, stopping) = try await stopWhileSending(phone)
        await phone.cache.start()
        gate.open()
        await stopping.value
        #expect(try await phone.cache.status(in: .private).isRunning)
        #expect(try await phone.cache.status(in: .shared).isRunning)
        await phone.cache.stop()
        #expect(try await phone.cache.status().isRunning == false)
    }

    /// The stop comes while the loops read what the process that synced before has written.
    @Test func stopBeforeTheLoopsOfATurnBeginKeepsThemStopped() async throws {
        let phone = try Device(RealService(), otherScopes: [.shared])
        let other = try CacheLock(cachePath: phone.path)
        #expect(other.take(.private) && other.take(.shared))
        await phone.cache.start()
        let turn = phone.cache.databases[1].turn
        #expect(await turn.isWaiting)
        // The second database's driver is busy until the stop has begun.
        let isBusy = Mutex(false)
        let end = DispatchSemaphore(value: 0)
        let driver = phone.cache.databases[1].driver
        let holding = Task {
            await driver.change { _, _ in
                isBusy.withLock { $0 = true }
                end.wait()
            }
        }
        while !isBusy.withLock({ $0 }) { await Task.yield() }
        other.close()
        while await turn.isWaiting { await Task.yield() }
        let stopping = Task { [phone] in await phone.cache.stop() }
        while await turn.isStarted { await Task.yield() }
        end.signal()
        await holding.value
        await stopping.value
        #expect(try await phone.cache.status(in: .private).isRunning == false)
        #expect(try await phone.cache.status(in: .shared).isRunning == false)
    }

    /// A stop waits for loops that went on after an error, and not for those that are started meanwhile.
    @Test func waitForTheEndOfALoopEndsWhenItIsStarted() async throws {
        let phone = try Device(RealService())
        let gate = Gate()
        phone.link.duringNextSend { await gate.pass() }
        try phone.save("a", "1")
        let syncing = Task { [phone] in try await phone.cache.sync() }
        while !gate.isReached { await Task.yield() }
        let driver = phone.cache.databases[0].driver
        let hasEnded = Mutex(false)
        let waiting = Task {
            await driver.loopEnd()
            hasEnded.withLock { $0 = true }
        }
        await phone.cache.start()
        gate.open()
        try await syncing.value
        // The loop of the sync continues as the started one.
        while !hasEnded.withLock({ $0 }) {
            try Task.checkCancellation()
            await Task.yield()
        }
        await waiting.value
        await phone.cache.stop()
    }

    @Test func syncDuringStopCompletes() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        let (gate, stopping) = try await stopWhileSending(phone)
        try phone.save("b", "1")
        let syncing = Task { [phone] in try await phone.cache.sync() }
        gate.open()
        await stopping.value
        try await syncing.value
        #expect(try await cloud.names() == ["a", "b"])
    }

    @Test func disablingDuringSyncThrowsDisabled() async throws {
        let cloud = RealService()
        let phone = try Device(cloud)
        try phone.save("a", "1")
        phone.link.duringNextSend { [phone] in
            try phone.save("b", "1")
            await phone.cache.setEnabled(false)
        }
        await phone.expectDisabledSync()
        #expect(try await cloud.names() == ["a"])
    }

    @Test func haltOutsideAnOperationIsReportedOnce() async throws {
        let phone = try Device(RealService())
        let events = phone.cache.events()
        phone.cache.file.close()
        let driver = phone.cache.databases[0].driver
        for _ in 0..<2 { await driver.receive(ChangeHint(zone: .list)) }
        try phone.cache.close()
        var reasons: [HaltReason] = []
        for await case .halted(let reason) in events { reasons.append(reason) }
        #expect(reasons.count == 1)
    }

    /// Otherwise syncing would be off again after the next start, without a reason.
    @Test func turningSyncingOnHaltsItIfThatCannotBeStored() async throws {
        let phone = try await Device.disabled(RealService())
        try await phone.cache.store.pool.writeWithoutTransaction { database in
            try database.execute(
                sql: """
                    CREATE TEMP TRIGGER refusal BEFORE INSERT ON main.change
                    BEGIN SELECT RAISE(ABORT, 'The test refused the change.'); END
                    """)
        }
        await phone.cache.setEnabled(true)
        let reason = try await phone.cache.status().haltReason
        guard case .localStorage = reason else {
            Issue.record("Not halted: \(String(describing: reason))")
            return
        }
    }

    @Test func disabledStateSurvivesRestart() async throws {
        let cloud = RealService()
        let phone = try await Device.disabled(cloud)
        try phone.restart()
        #expect(try await phone.cache.status().isEnabled == false)
        await phone.expectDisabledSync()
        await phone.cache.setEnabled(true)
        try phone.restart()
        try await phone.cache.sync()
        #expect(try await cloud.names() == ["a"])
    }

    @Test func syncAfterResolverHaltFetchesPageAgain() async throws {
        final class Undecided: ConflictResolver {
            let isDecided = Gate()
            func resolve(_ conflict: SyncConflict) -> ConflictResolution {
                isDecided.isReached ? .keepServer : .halt(reason: "Update the app.")
            }
        }
        let cloud = RealService()
        let phone = try Device(cloud, settings: .smallBatches)
        let resolver = Undecided()
        let tablet = try Device(cloud, resolver: resolver)
        for name in ["a", "b", "c", "d", "e"] { try phone.save(name, "1") }
        try await phone.cache.sync()
        try tablet.save("a", "2")
        let error = await #expect(throws: CacheError.self) { try await tablet.cache.sync() }
        #expect(error?.haltReason == .requested("Update the app."))
        resolver.isDecided.open()
        await resolver.isDecided.pass()
        try await tablet.cache.sync()
        #expect(try tablet.texts() == phone.texts())
        #expect(try tablet.texts().count == 5)
    }

    @Test func expiredTokensRenewSubscription() async throws {
        let cloud = RealService()
        let phone = try await Device.synced(cloud, ["a": "1"])
        try await cloud.expireTokens()
        try await phone.cache.sync()
        #expect(phone.link.callNames.filter { $0 == "subscription" }.count == 2)
        try phone.restart()
        try await phone.cache.sync()
        #expect(phone.link.callNames.filter { $0 == "subscription" }.count == 2)
    }
}
