import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import StratusTesting
import StratusWire
import Synchronization
import TestProcesses
import Testing

@testable import StratusCache

/// Two real processes with one file: one syncs, both read and write, and each sees the other's changes.
@Suite struct TwoProcessTests {
    private let path = NSTemporaryDirectory() + "shared-\(UUID().uuidString).sqlite"

    private func open(_ cloud: RealService) throws -> CloudCache {
        try CloudCache(path: path, remotes: [cloud.remote()], settings: .quick)
    }

    private func remove() { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }

    private func edit(_ name: String, _ text: String) -> LocalEdit {
        LocalEdit(
            id: RecordID(name: name, zoneID: .list), type: "Item",
            changes: [Field(name: "text", value: .string(text))])
    }

    @Test(.timeLimit(.minutes(20))) func writesOfAnotherProcessAreSeenAndSent() async throws {
        defer { remove() }
        let cloud = RealService()
        let cache = try open(cloud)
        await cache.start()
        let peer = try Peer(path)
        defer { peer.end() }
        #expect(await peer.answer() == "open")
        var changes = cache.changes().makeAsyncIterator()
        #expect(await peer.answer(to: "save a mine") == "saved a")
        #expect(await changes.next()?.map(\.recordName) == ["a"])
        #expect(try cache.snapshot(RecordID(name: "a", zoneID: .list))?["text"] == .string("mine"))
        // A sync that the other process requests is done by this one.
        #expect(await peer.answer(to: "sync") == "synced")
        #expect(try await cloud.record("a")?["text"] == .string("mine"))
        #expect(await peer.answer(to: "start") == "waits true")
        await cache.stop()
        try cache.close()
    }

    @Test(.timeLimit(.minutes(20))) func otherProcessObservesFetchedAndSavedChanges() async throws {
        defer { remove() }
        let cloud = RealService()
        let tablet = try Device(cloud)
        try tablet.save("theirs", "1")
        try await tablet.sync()
        let cache = try open(cloud)
        let peer = try Peer(path)
        defer { peer.end() }
        #expect(await peer.answer() == "open")
        #expect(await peer.answer(to: "watch") == "watching")
        try await cache.sync()
        #expect(await peer.answer() == "changed theirs")
        try cache.save([edit("mine", "2")])
        #expect(await peer.answer() == "changed mine")
        #expect(await peer.answer(to: "read mine") == "text 2")
        try cache.close()
    }

    /// The kernel releases a lock when its process ends, whatever the process was doing.
    @Test(.timeLimit(.minutes(20))) func killedProcessReleasesItsLock() async throws {
        defer { remove() }
        let cloud = RealService()
        let peer = try Peer(path)
        defer { peer.end() }
        #expect(await peer.answer() == "open")
        #expect(await peer.answer(to: "start") == "waits false")
        let cache = try open(cloud)
        await cache.start()
        #expect(try await cache.status().isSyncedElsewhere)
        #expect(await peer.answer(to: "save a mine") == "saved a")
        #expect(try await cloud.names().isEmpty)
        peer.end()
        try await cache.sync()
        #expect(try await cloud.record("a")?["text"] == .string("mine"))
        #expect(try await !cache.status().isSyncedElsewhere)
        await cache.stop()
        try cache.close()
    }

    /// A failure of the process that syncs is reported to the one that waits.
    @Test(.timeLimit(.minutes(20))) func failedSyncOfAnotherProcessThrows() async throws {
        defer { remove() }
        let peer = try Peer(path)
        defer { peer.end() }
        #expect(await peer.answer() == "open")
        #expect(await peer.answer(to: "start") == "waits false")
        let cache = try open(RealService())
        let error = await #expect(throws: CacheError.self) { try await cache.sync() }
        #expect(error?.code == .notSynced)
        // This process takes the lock when the other one releases it.
        #expect(await peer.answer(to: "stop") == "stopped")
        try await cache.sync()
        try cache.close()
    }

    /// A phone with a started loop that its own file has halted, and the tablet that saved a record since.
    private func haltedPhone(
        _ cloud: RealService, otherScopes: [CKDatabase.Scope] = []
    ) async throws -> (phone: Device, tablet: Device) {
        let tablet = try Device(cloud)
        let phone = try Device(cloud, otherScopes: otherScopes)
        try await phone.sync()
        try await refuseRecords(in: phone)
        try tablet.save("a", "1")
        try await tablet.sync()
        await phone.cache.start()
        await waitForHalt(of: phone)
        return (phone, tablet)
    }

    /// Only this connection refuses records.
    private func refuseRecords(in phone: Device) async throws {
        try await phone.cache.store.pool.writeWithoutTransaction { database in
            try database.execute(
                sql: """
                    CREATE TEMP TRIGGER refusal BEFORE INSERT ON main.record
                    BEGIN SELECT RAISE(ABORT, 'The test refused the record.'); END
                    """)
        }
    }

    private func waitForHalt(of phone: Device) async {
        let driver = phone.cache.databases[0].driver
        while driver.loopHalt != .waiting { await Task.yield() }
        await phone.cache.databases[0].turn.loopHalted()
    }

    @Test(.timeLimit(.minutes(20))) func processHaltedByItsFileLetsAnotherOneSync() async throws {
        let cloud = RealService()
        let (phone, _) = try await haltedPhone(cloud)
        let status = try await phone.cache.status()
        guard case .localStorage = status.haltReason else {
            Issue.record("Halted by something else: \(status)")
            return
        }
        #expect(!status.isSyncedElsewhere)
        let other = try CloudCache(path: phone.path, remotes: [cloud.remote()], settings: .quick)
        let isFree = other.file.lock.take(.private)
        #expect(isFree)
        if isFree { other.file.lock.giveBack(.private) }
        try await other.sync()
        #expect(try phone.texts() == ["a": "1"])
        await phone.cache.stop()
        try other.close()
    }

    @Test(.timeLimit(.minutes(20))) func databaseHaltedByTheFileIsSyncedByAnotherProcess()
        async throws
    {
        let cloud = RealService()
        let (phone, _) = try await haltedPhone(cloud, otherScopes: [.shared])
        #expect(try await phone.cache.status(in: .private).haltReason != nil)
        #expect(try await phone.cache.status(in: .shared).haltReason == nil)
        let other = try CloudCache(
            path: phone.path, remotes: [cloud.remote(), cloud.remote(.shared)], settings: .quick)
        #expect(other.file.lock.take(.private))
        other.file.lock.giveBack(.private)
        #expect(!other.file.lock.take(.shared))
        try await other.sync()
        #expect(try phone.texts() == ["a": "1"])
        await phone.cache.stop()
        try other.close()
    }

    /// Earlier versions locked the whole file. A command of this version may run beside an app with such a version.
    @Test func processWithTheLockOfTheWholeFileSyncsAlone() throws {
        let phone = try Device(RealService())
        let lock = phone.cache.file.lock
        let file = try #require(FileHandle(forUpdatingAtPath: lock.path))
        let earlier = file.fileDescriptor
        #expect(flock(earlier, LOCK_EX | LOCK_NB) == 0)
        #expect(!lock.take(.private))
        #expect(flock(earlier, LOCK_UN) == 0)
        #expect(lock.take(.private) && lock.take(.shared))
        lock.giveBack(.private)
        #expect(flock(earlier, LOCK_EX | LOCK_NB) != 0)
        lock.giveBack(.shared)
        #expect(flock(earlier, LOCK_EX | LOCK_NB) == 0)
        try file.close()
    }

    @Test(.timeLimit(.minutes(20))) func databaseThatAProcessDoesNotKeepIsSyncedByAnother()
        async throws
    {
        let cloud = RealService()
        let phone = try Device(cloud)
        await phone.cache.start()
        let other = try CloudCache(
            path: phone.path, remotes: [cloud.remote(), cloud.remote(.shared)], settings: .quick)
        await other.start()
        #expect(try await other.status(in: .private).isSyncedElsewhere)
        #expect(try await !other.status(in: .shared).isSyncedElsewhere)
        await other.stop()
        await phone.cache.stop()
        try other.close()
    }

    /// One process finds a shared zone missing, and loses the network. When it syncs again, another one has fetched the
    /// zone, which the user has joined again.
    @Test(.timeLimit(.minutes(20))) func zoneFetchedByAnotherProcessIsNotMissing() async throws {
        let cloud = RealService()
        let list = try await cloud.share(.list, of: "alice", with: "bob")
        let guest = try Device(cloud, user: "bob", scope: .shared)
        try await guest.sync()
        try guest.save("a", "1", zone: list)
        try await guest.sync()
        try await cloud.save("b", "1")
        let link = ServiceLink(cloud, user: "bob")
        let other = try CloudCache(
            path: guest.path, remotes: [link.connection().remote(.shared)], settings: .quick)
        link.fail("page", 0, .requestLost(SyncFailure(.zoneNotFound)))
        link.fail("database", 1, .requestLost(SyncFailure(.networkUnavailable)))
        await #expect(throws: CacheError.self) { try await other.sync() }
        let lock = guest.cache.file.lock
        while !lock.take(.shared) { await Task.yield() }
        lock.giveBack(.shared)
        try await guest.sync()
        try guest.save("a", "2", zone: list)
        try await other.sync()
        #expect(try guest.texts(zone: list) == ["a": "2", "b": "1"])
        #expect(try await guest.cache.pendingRecordIDs(in: .shared).isEmpty)
        try other.close()
    }

    /// The cancelled call's loop is the one that is started, so it does not end.
    @Test(.timeLimit(.minutes(20))) func processHaltedAfterACancelledSyncLetsAnotherOneSync()
        async throws
    {
        let cloud = RealService()
        let tablet = try Device(cloud)
        let phone = try Device(cloud)
        try await phone.sync()
        try await refuseRecords(in: phone)
        try tablet.save("a", "1")
        try await tablet.sync()
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let (answers, deliver) = AsyncStream.makeStream(of: Void.self)
        phone.link.duringNextDatabasePage {
            ask.yield()
            for await _ in answers { break }
        }
        let sync = Task { try await phone.cache.sync() }
        for await _ in asked { break }
        sync.cancel()
        await #expect(throws: CancellationError.self) { try await sync.value }
        await phone.cache.start()
        deliver.finish()
        await waitForHalt(of: phone)
        let other = try CacheLock(cachePath: phone.path)
        #expect(other.take(.private))
        other.close()
        await phone.cache.stop()
    }

    /// Otherwise the loop would wait with the lock, and without a halt.
    @Test(.timeLimit(.minutes(20))) func syncThatCannotReadTheFileEndsNoHalt() async throws {
        let (phone, _) = try await haltedPhone(RealService())
        let pool = try #require(try phone.cache.store.pool as? DatabasePool)
        let aside = phone.path + "-aside"
        try FileManager.default.moveItem(atPath: phone.path, toPath: aside)
        // Only the connection that writes stays open.
        pool.invalidateReadOnlyConnections()
        await #expect(throws: (any Error).self) { try await phone.cache.databases.sync() }
        try FileManager.default.moveItem(atPath: aside, toPath: phone.path)
        #expect(phone.cache.databases[0].driver.loopHalt == .waiting)
        #expect(try await phone.cache.status().haltReason != nil)
        let other = try CacheLock(cachePath: phone.path)
        #expect(other.take(.private))
        other.close()
        await phone.cache.stop()
    }

    @Test(.timeLimit(.minutes(20))) func syncingIsContinuedInItsTurnWhenAHaltEnds() async throws {
        let cloud = RealService()
        let (phone, _) = try await haltedPhone(cloud)
        try await phone.cache.store.pool.writeWithoutTransaction { database in
            try database.execute(sql: "DROP TRIGGER temp.refusal")
        }
        await phone.cache.setEnabled(false)
        await phone.cache.setEnabled(true)
        while try phone.texts() != ["a": "1"] { await Task.yield() }
        let other = try CacheLock(cachePath: phone.path)
        #expect(!other.take(.private))
        await phone.cache.stop()
        #expect(other.take(.private))
        other.close()
    }

    /// A program that is being started shares the descriptors of the file for a moment.
    @Test func closedLockIsFreeDespiteInheritedDescriptors() throws {
        defer { remove() }
        let first = try CacheLock(cachePath: path)
        // As after a fork: other descriptors of the same open file.
        let copies = try openDescriptors(of: path).keys.map { dup($0) }
        defer { for copy in copies { Foundation.close(copy) } }
        #expect(copies.count == 1)
        #expect(first.take(.private))
        let second = try CacheLock(cachePath: path)
        #expect(!second.take(.private))
        first.close()
        #expect(second.take(.private))
    }

    /// As in an app that starts a cache which it has just closed.
    @Test func closedLockCannotBeTaken() throws {
        defer { remove() }
        let file = try MemoryCacheFile()
        for open in [{ try CacheLock(cachePath: path) }, { CacheLock(in: file) }] {
            let (closed, other) = (try open(), try open())
            closed.close()
            #expect(!closed.take(.private))
            #expect(other.take(.private))
            other.close()
        }
    }

    @Test func lockFileIsReadableByItsUserOnly() throws {
        defer { remove() }
        let cache = try open(RealService())
        let attributes = try FileManager.default.attributesOfItem(atPath: path + "-lock")
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        try cache.close()
    }

    /// The loop continues when its caller is cancelled: another process must not sync beside it.
    @Test(.timeLimit(.minutes(20))) func cancelledSyncKeepsTheLockUntilItsLoopEnds() async throws {
        let cloud = TestCloud()
        let phone = try await CloudDevice(cloud, "phone")
        let other = try await CloudDevice(cloud, "widget")
        let widget = try CloudCache(
            path: phone.path, container: CloudDevice.container(other.connection),
            settings: .quick, world: other.time.world)
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let (answers, deliver) = AsyncStream.makeStream(of: Void.self)
        phone.transport.tap { _, answer in
            guard answer is ChangesDatabase.Answer else { return answer }
            ask.yield()
            for await _ in answers { break }
            return answer
        }
        let sync = Task { try await phone.cache.sync() }
        for await _ in asked { break }
        sync.cancel()
        await #expect(throws: CancellationError.self) { try await sync.value }
        let isFree = widget.file.lock.take(.private)
        #expect(!isFree)
        if isFree { widget.file.lock.giveBack(.private) }
        deliver.finish()
        let id = CKRecord.ID(recordName: "a", zoneID: .list)
        try await widget.save(CKRecord(recordType: "Item", recordID: id))
        try await widget.sync()
        #expect(try await phone.cache.record(for: id) != nil)
        #expect(try await phone.cache.pendingRecordIDs().isEmpty)
        try widget.close()
    }
}
