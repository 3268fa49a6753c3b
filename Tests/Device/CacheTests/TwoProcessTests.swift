import Foundation
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization
import TestProcesses
import Testing

@testable import StratusCache

/// Two real processes with one file: one syncs, both read and write, and each hears of the other.
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
        // A sync that the other process asks for is done by this one.
        #expect(await peer.answer(to: "sync") == "synced")
        #expect(try await cloud.record("a")?["text"] == .string("mine"))
        #expect(await peer.answer(to: "start") == "waits true")
        await cache.stop()
        try cache.close()
    }

    @Test(.timeLimit(.minutes(20))) func otherProcessHearsOfWhatIsFetchedAndSaved() async throws {
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

    /// The kernel lets go of a lock, whatever its process was doing.
    @Test(.timeLimit(.minutes(20))) func killedProcessLeavesItsTurn() async throws {
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

    /// What the syncing process cannot do, it says.
    @Test(.timeLimit(.minutes(20))) func syncElsewhereThatFailsThrows() async throws {
        defer { remove() }
        let peer = try Peer(path)
        defer { peer.end() }
        #expect(await peer.answer() == "open")
        #expect(await peer.answer(to: "start") == "waits false")
        let cache = try open(RealService())
        let error = await #expect(throws: CacheError.self) { try await cache.sync() }
        #expect(error?.code == .notSynced)
        // The turn comes when the other one gives it up.
        #expect(await peer.answer(to: "stop") == "stopped")
        try await cache.sync()
        try cache.close()
    }

    /// A program that is started at this moment has the file open until it runs.
    @Test func lockThatAStartingProgramHasTooIsLetGo() throws {
        defer { remove() }
        let first = try CacheLock(cachePath: path)
        // As after a fork: other numbers of the same open file.
        let copies = try openDescriptors(of: path).keys.map { dup($0) }
        defer { for copy in copies { Foundation.close(copy) } }
        #expect(copies.count == 1)
        #expect(first.take())
        let second = try CacheLock(cachePath: path)
        #expect(!second.take())
        first.close()
        #expect(second.take())
    }

    /// As of an app that starts a cache which it has just closed.
    @Test func closedLockIsTakenNoMore() throws {
        defer { remove() }
        let file = try MemoryCacheFile()
        for open in [{ try CacheLock(cachePath: path) }, { CacheLock(in: file) }] {
            let (closed, other) = (try open(), try open())
            closed.close()
            #expect(!closed.take())
            #expect(other.take())
            other.close()
        }
    }

    @Test func lockFileIsTheUsersAlone() throws {
        defer { remove() }
        let cache = try open(RealService())
        let attributes = try FileManager.default.attributesOfItem(atPath: path + "-lock")
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        try cache.close()
    }
}
