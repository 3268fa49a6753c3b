import Foundation
import Synchronization
import Testing

@testable import StratusCache

/// What is left of a cache's file when it was closed.
@Suite struct CacheClosingTests {
    /// SQLite removes the log when the last connection is closed.
    private func hasLog(_ phone: Device) -> Bool {
        FileManager.default.fileExists(atPath: phone.path + "-wal")
    }

    @Test(.timeLimit(.minutes(20))) func closeWaitsForAReadOfAnotherThread() async throws {
        let phone = try Device(RealService())
        try phone.save("a", "1")
        let cache = phone.cache
        let hasReturned = Mutex(false)
        let (begun, begin) = AsyncStream.makeStream(of: Void.self)
        let (ends, end) = AsyncStream.makeStream(of: Result<Bool, any Error>.self)
        Thread.detachNewThread {
            // The read ends when `close()` waits for it, or has returned.
            end.yield(
                Result {
                    try cache.file.read { _ in
                        begin.finish()
                        while !hasReturned.withLock({ $0 }),
                            cache.file.connections.waitingCount == 0
                        {
                            sched_yield()
                        }
                        return hasReturned.withLock { $0 }
                    }
                })
            end.finish()
        }
        for await _ in begun {}
        try cache.close()
        #expect(!hasLog(phone))
        hasReturned.withLock { $0 = true }
        for await hadReturned in ends { #expect(try !hadReturned.get()) }
    }

    @Test(.timeLimit(.minutes(20))) func closeWithinAReadDoesNotWait() throws {
        let phone = try Device(RealService())
        try phone.save("a", "1")
        try phone.cache.file.read { _ in
            try phone.cache.close()
            #expect(hasLog(phone))
        }
        // Waits for the cache's own tasks.
        try phone.cache.close()
        #expect(!hasLog(phone))
    }

    @Test func closedCacheThrowsWhenItIsRead() throws {
        let phone = try Device(RealService())
        try phone.cache.close()
        #expect(throws: (any Error).self) { try phone.texts() }
    }
}
