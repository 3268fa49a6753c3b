import Dispatch
import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync
import Synchronization
import Testing

@testable import StratusCache

/// The async reads and writes do the same as the blocking ones, and no thread of the pool waits for the disk.
@Suite struct AsyncCallTests {
    private let zone = CKRecordZone.ID(zoneName: "List")

    private func item(_ name: String, _ text: String) -> CKRecord {
        let record = CKRecord(
            recordType: "Item", recordID: CKRecord.ID(recordName: name, zoneID: zone))
        record["text"] = text
        return record
    }

    /// In a function that is not async, the same calls are the blocking ones.
    private func namesAndTexts(_ cache: CloudCache) throws -> [String: String?] {
        var texts: [String: String?] = [:]
        for record in try cache.records(inZoneWith: zone) {
            texts[record.recordID.recordName] = record["text"] as String?
        }
        return texts
    }

    @Test func asyncCallsEqualBlockingCalls() async throws {
        let device = try Device(RealService())
        let cache = device.cache
        try await cache.createZone(zone)
        try await cache.save([item("a", "1"), item("b", "2")])
        try await cache.save(item("c", "3"))
        #expect(try namesAndTexts(cache) == ["a": "1", "b": "2", "c": "3"])
        let read = try await cache.record(for: CKRecord.ID(recordName: "b", zoneID: zone))
        #expect(read?["text"] == "2")
        #expect(try await cache.records(ofType: "Item", inZoneWith: zone).count == 3)
        #expect(try await cache.zoneIDs() == [zone])
        #expect(try await cache.pendingRecordIDs().map(\.recordName) == ["a", "b", "c"])
        try await cache.delete(CKRecord.ID(recordName: "a", zoneID: zone))
        try await cache.delete([CKRecord.ID(recordName: "b", zoneID: zone)])
        #expect(try namesAndTexts(cache) == ["c": "3"])
        #expect(try await cache.attentionItems().isEmpty)
        #expect(try await cache.reports().isEmpty)
        try await cache.deleteZone(zone)
        #expect(try await cache.zoneIDs().isEmpty)
    }

    @Test func asyncCallsThrowTheErrorsOfBlockingCalls() async throws {
        let device = try Device(RealService())
        await #expect(throws: CacheError.self) {
            try await device.cache.save(self.item("a", "1"), in: .shared)
        }
        try device.cache.close()
        await #expect(throws: DatabaseError.self) {
            try await device.cache.save(self.item("a", "1"))
        }
    }

    @Test func cancelledReadThrowsAndCancelledWriteIsWritten() async throws {
        let device = try Device(RealService())
        let (cache, record) = (device.cache, item("a", "1"))
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await cache.save(record)
            _ = try await cache.records(inZoneWith: zone)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(try namesAndTexts(cache) == ["a": "1"])
    }

    private final class Release: Sendable {
        let isDone = Mutex(false)
        let signal = DispatchSemaphore(value: 0)
    }

    /// A writer holds the file until a task of the pool has run, and there are more saves than threads in the pool. If
    /// the saves blocked the pool, that task would never run.
    @Test(.timeLimit(.minutes(20))) func waitingForTheFileDoesNotBlockTheThreadPool() async throws {
        let device = try Device(RealService())
        let cache = device.cache
        try await cache.save(item("first", "1"))
        let (pool, release) = (try cache.file.pool, Release())
        await withCheckedContinuation { isHeld in
            Thread.detachNewThread {
                pool.unsafeReentrantWrite { _ in
                    isHeld.resume()
                    release.signal.wait()
                }
            }
        }
        let count = ProcessInfo.processInfo.activeProcessorCount * 4
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                let record = item("item \(number)", "\(number)")
                group.addTask {
                    try await cache.save(record)
                    #expect(release.isDone.withLock { $0 })
                }
            }
            // Two actors of the cache wait too.
            group.addTask { try await cache.sync() }
            group.addTask {
                for _ in 0..<100 { await Task.yield() }
                release.isDone.withLock { $0 = true }
                release.signal.signal()
            }
            try await group.waitForAll()
        }
        #expect(try namesAndTexts(cache).count == count + 1)
    }
}
