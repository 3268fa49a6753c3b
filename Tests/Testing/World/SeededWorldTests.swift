import Foundation
import StratusCache
import StratusClient
import StratusTesting
import Testing

/// Time, random numbers and the order of tasks from one seed.
@Suite struct SeededWorldTests {
    @Test func timeAdvancesOnlyWhenAllTasksWait() async throws {
        let world = SeededWorld(seed: 7)
        let times = try await world.run { () -> [Double] in
            let clock = world.world("a", skewMilliseconds: 5)
            let begun = clock.uptimeSeconds()
            try await clock.sleep(30)
            #expect(clock.nowMilliseconds() == world.nowMilliseconds + 5)
            return [begun, clock.uptimeSeconds()]
        }
        #expect(times == [0, 30])
    }

    @Test func orderOfTasksIsDeterministicPerSeed() async throws {
        func order(_ seed: UInt64) async throws -> [Int] {
            let world = SeededWorld(seed: seed)
            return try await world.run {
                await withTaskGroup(of: Int.self) { group in
                    for number in 0..<8 {
                        group.addTask {
                            await Task.yield()
                            return number
                        }
                    }
                    return await group.reduce(into: []) { $0.append($1) }
                }
            }
        }
        var orders: Set<[Int]> = []
        for seed in 1...8 as ClosedRange<UInt64> {
            let first = try await order(seed)
            #expect(try await order(seed) == first)
            orders.insert(first)
        }
        #expect(orders.count > 1)
    }

    @Test func cancelledSleepThrows() async throws {
        let world = SeededWorld(seed: 7)
        let ended = try await world.run {
            let clock = world.world("a")
            let task = clock.startTask("sleeper") {
                await #expect(throws: CancellationError.self) { try await clock.sleep(1_000) }
            }
            await world.waitUntilIdle()
            task.cancel()
            await task.value
            return clock.uptimeSeconds()
        }
        #expect(ended == 0)
    }

    @Test func waitWithoutWakeThrowsStuck() async {
        let world = SeededWorld(seed: 7)
        await #expect(throws: SeededWorld.Stuck.self) {
            try await world.run {
                let (never, continuation) = AsyncStream.makeStream(of: Void.self)
                for await _ in never { break }
                continuation.finish()
            }
        }
    }

    @Test func busyLoopThrowsEndless() async {
        let world = SeededWorld(seed: 7, stepLimit: 10_000)
        await #expect(throws: SeededWorld.Endless.self) {
            try await world.run {
                while !Task.isCancelled { await Task.yield() }
            }
        }
    }

    /// Like a loop that waits for something by the clock.
    @Test func sleepingLoopThrowsEndless() async {
        let world = SeededWorld(seed: 7, stepLimit: 10_000)
        let clock = world.world("phone")
        await #expect(throws: SeededWorld.Endless.self) {
            try await world.run {
                while !Task.isCancelled { try await clock.sleep(1) }
            }
        }
    }

    @Test func killedCacheContinuesAfterRestart() async throws {
        let world = SeededWorld(seed: 7)
        try await world.run {
            let cloud = TestCloud(seeded: world)
            let clock = world.world("phone", skewMilliseconds: 3_600_000)
            let phone = CKContainer(
                identifier: "iCloud.org.example.Lists",
                connection: try await cloud.connect(
                    user: "alice", device: "phone", world: clock))
            let file = try MemoryCacheFile()
            let item = CKRecord(
                recordType: "Item",
                recordID: CKRecord.ID(
                    recordName: "milk", zoneID: CKRecordZone.ID(zoneName: "List")))
            item["title"] = "Milk"
            let cache = try CloudCache(memory: file, container: phone, world: clock)
            // The process ends when the row is written.
            file.setWriteFailure { _ in .killedAfter }
            #expect(throws: (any Error).self) { try cache.save(item) }
            file.setWriteFailure(nil)
            let next = try CloudCache(memory: file, container: phone, world: clock)
            try await next.sync()
            let saved = try await phone.privateCloudDatabase.record(for: item.recordID)
            #expect(saved["title"] == "Milk")
            // A full disk loses nothing.
            file.setWriteFailure { _ in .storageFull }
            item["title"] = "Oat milk"
            #expect(throws: CacheError.self) { try next.save(item) }
            #expect(try await next.record(for: item.recordID)?["title"] == "Milk")
        }
    }

    /// Assets are files on the disk, and waiting for the disk is a step of the world.
    @Test func assetsOfMemoryCachesAreDownloadedAndRemoved() async throws {
        let folder = FileManager.default.temporaryDirectory
            .appendingPathComponent("seeded-\(UUID().uuidString)")
        // The system removes what is left in its temporary folder.
        defer { try? FileManager.default.removeItem(at: folder) }
        @Sendable func names(_ device: String) throws -> [String] {
            try FileManager.default.contentsOfDirectory(
                atPath: folder.appendingPathComponent(device).path)
        }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let picture = folder.appendingPathComponent("picture")
        let bytes = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0) })
        try bytes.write(to: picture)
        let world = SeededWorld(seed: 7)
        try await world.run {
            let caches = try await TestCloud(seeded: world).caches(in: world, assetsIn: folder)
            let id = CKRecord.ID(
                recordName: "milk", zoneID: CKRecordZone.ID(zoneName: "List"))
            let item = CKRecord(recordType: "Item", recordID: id)
            item["image"] = CKAsset(fileURL: picture)
            try await caches[0].save(item)
            for cache in caches { try await cache.sync() }
            let image = try await caches[1].asset("image", of: id)
            #expect(try image.fileURL.map { try Data(contentsOf: $0) } == bytes)
            #expect(try names("phone").count == 1)
            try await caches[1].delete(id)
            for cache in caches.reversed() { try await cache.sync() }
            try await world.pass(seconds: 5)
            #expect(try names("phone") == [])
        }
    }
}
