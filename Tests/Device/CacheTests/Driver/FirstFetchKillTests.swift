import StratusClient
import StratusSync
import StratusWire
import Synchronization
import Testing

@testable import StratusCache

/// A killed first fetch continues from its last written page, and its progress is kept.
@Suite(.timeLimit(.minutes(20))) struct FirstFetchKillTests {
    private static let hidden: Set<String> = ["change", "event", "flag", "sqlite_sequence"]
    private let pages = RandomPages.plain(5)

    @Test(arguments: [MemoryCacheFile.WriteFailure.killedBefore, .killedAfter])
    func firstFetchContinuesAfterKillAtEveryWrite(
        _ failure: MemoryCacheFile.WriteFailure
    ) async throws {
        let whole = try PagedCache(PagedService(pages))
        try await whole.cache.sync()
        let rows = try whole.rows(butFor: Self.hidden)
        #expect(rows.count > 20, "Otherwise nothing is compared.")
        let counts = try pages.map { bytes in
            try readWire(ChangesZone.Answer.self, from: bytes).items[0].get().records.count {
                if case .record = $0 { true } else { false }
            }
        }
        var unfinished = 0
        for last in 1...whole.memory.writeCount {
            let killed = try PagedCache(PagedService(pages))
            killed.memory.setWriteFailure { $0 == last ? failure : nil }
            // The result does not matter: a killed process has none either.
            try? await killed.cache.sync()
            // The kill may have closed it already.
            try? killed.cache.close()
            killed.memory.setWriteFailure(nil)
            let next = try PagedCache(PagedService(pages), memory: killed.memory)
            let token = try next.store.read { try next.store.zone(PagedCache.zone, $0)?.token }
            let written = token.flatMap { Int($0) } ?? 0
            let progress = try await next.cache.status().fetch
            if written > 0, written < pages.count {
                unfinished += 1
                #expect(progress?.appliedCount == counts.prefix(written).reduce(0, +))
            } else {
                #expect(progress == nil)
            }
            try await next.cache.sync()
            #expect(try next.rows(butFor: Self.hidden) == rows, "killed at write \(last)")
            #expect(try await next.cache.status().fetch == nil)
        }
        #expect(unfinished >= pages.count - 1)
    }

    /// The progress that an app sees while pages arrive.
    @Test func progressCountsPagesThatAreWritten() async throws {
        let service = PagedService(pages)
        let cache = try PagedCache(service)
        let store = cache.store
        let seen = Mutex<FetchProgress?>(nil)
        service.state.withLock { state in
            state.trouble = { token in
                // The last page is fetched ahead, and the one before it is written.
                guard token == "3" else { return }
                let progress = try store.read {
                    try FetchProgress.readAll(store.scope.rawValue, $0)
                }
                seen.withLock { $0 = progress }
            }
        }
        try await cache.cache.sync()
        let progress = try #require(seen.withLock { $0 })
        #expect(progress.appliedCount > 0 && progress.remainingCount == nil)
        var status = CacheStatus()
        status.operation = .fetchZoneChanges(PagedCache.zone)
        status.fetch = FetchProgress(
            fetchedCount: 30, appliedCount: 20, recordsPerSecond: 5.5, remainingCount: 80)
        #expect(status.line == "Fetching changes… 20 records are here, 80 remaining.")
        #expect(
            status.details.contains(
                "Full fetch: 20 records are here, 80 remaining; 30 were fetched, 5 a second"))
    }
}
