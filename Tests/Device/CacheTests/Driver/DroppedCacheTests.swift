import Foundation
import StratusRecords
import StratusSync
import TestProcesses
import Testing

@testable import StratusCache

/// A cache without any reference is closed, whether it is running or not.
@Suite struct DroppedCacheTests {
    @Test(
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/self/fd")),
        .timeLimit(.minutes(20)))
    func droppedCacheClosesItsFileAndEndsItsTasks() async throws {
        let name = "dropped-\(UUID().uuidString)"
        let path = NSTemporaryDirectory() + name
        defer {
            for number in 0..<20 {
                for suffix in ["", "-wal", "-shm", "-lock"] { unlink("\(path)-\(number)\(suffix)") }
            }
        }
        var drivers: [Dropped] = []
        for number in 0..<20 {
            let cache = try CloudCache(
                path: "\(path)-\(number)", remotes: [RealService().remote()], settings: .quick,
                world: TestTime().world)
            await cache.start()
            try cache.save([
                LocalEdit(
                    id: RecordID(name: "a", zoneID: .list), type: "Item",
                    changes: [Field(name: "text", value: .string("1"))])
            ])
            if number == 0 { #expect(try openDescriptors(of: name).count >= 2) }
            drivers.append(Dropped(cache.databases[0].driver))
        }
        // Work in progress when the cache was dropped ends first.
        while try !openDescriptors(of: name).isEmpty { await Task.yield() }
        // The loops are awaited: no task keeps a driver after its last one has ended.
        for dropped in drivers { await dropped.driver?.stop() }
        while drivers.contains(where: { $0.driver != nil }) { await Task.yield() }
    }

    @Test func streamsOfADroppedCacheEnd() async throws {
        let device = try Device(RealService())
        let path = device.path + "-dropped"
        defer { for suffix in ["", "-wal", "-shm", "-lock"] { unlink(path + suffix) } }
        var cache: CloudCache? = try CloudCache(path: path, remotes: [device.remote])
        var changes = try #require(cache).changes().makeAsyncIterator()
        var reports = try #require(cache).reportStream().makeAsyncIterator()
        cache = nil
        #expect(await changes.next() == nil)
        #expect(try await reports.next() == nil)
    }
}

/// A weak reference to a driver.
private final class Dropped {
    weak var driver: SyncDriver?

    init(_ driver: SyncDriver) { self.driver = driver }
}
