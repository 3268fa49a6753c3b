import Dispatch
import StratusClient
import StratusRecords
import StratusSync
import StratusWire
import Synchronization
import Testing

@testable import StratusCache

/// The next page is requested while one is written, and this changes nothing but the time.
@Suite(.timeLimit(.minutes(20))) struct PageAheadTests {
    private let service = PagedService(RandomPages.plain(4))

    private func token(_ cache: PagedCache) throws -> String? {
        try cache.store.read { try cache.store.zone(PagedCache.zone, $0)?.token }
    }

    /// No write ends before the next page was requested.
    @Test func nextPageIsRequestedBeforeTheCurrentOneIsWritten() async throws {
        let cache = try PagedCache(service)
        let (service, asked) = (service, DispatchSemaphore(value: 0))
        service.state.withLock { state in
            state.trouble = { token in if token != nil { asked.signal() } }
        }
        // No page is requested after the last of the four.
        let waits = Mutex((count: 0, areLate: false))
        cache.memory.setWriteFailure { _ in
            let isOfPage = service.isAsked
            guard isOfPage, waits.withLock({ $0.count < 3 && !$0.areLate }) else { return nil }
            let isLate = asked.wait(timeout: .now() + 120) == .timedOut
            waits.withLock { $0 = ($0.count + 1, $0.areLate || isLate) }
            return nil
        }
        try await cache.cache.sync()
        #expect(waits.withLock { $0.count == 3 && !$0.areLate })
        #expect(service.state.withLock { $0.asked } == [nil, "1", "2", "3"], "each once")
        #expect(try token(cache) == "4")
    }

    /// The failure of a page that was requested ahead does not fail the page before it: it is the next operation's
    /// failure, and its retry-after is observed.
    @Test func failureOfPrefetchedPageIsReportedAfterThePageBefore() async throws {
        var settings = SyncSettings()
        settings.retriesOfSyncNow = 1
        settings.firstRetryDelaySeconds = 0.01
        let cache = try PagedCache(service, settings: settings)
        service.state.withLock { state in
            state.trouble = { token in
                guard token == "2" else { return }
                throw ServiceFailure(
                    ServiceError(.throttled, "Come back later.", retryAfterSeconds: 0.05))
            }
        }
        let error = await #expect(throws: CacheError.self) { try await cache.cache.sync() }
        #expect(error?.failure?.code == .requestRateLimited)
        #expect(error?.failure?.retryAfterSeconds == 0.05)
        #expect(try token(cache) == "2", "both pages before it are kept")
        #expect(service.state.withLock { $0.asked } == [nil, "1", "2"])
        service.state.withLock { $0.trouble = nil }
        try await cache.cache.sync()
        #expect(try token(cache) == "4")
    }

    /// When a page cannot be written, the one ahead of it is dropped too, and both are requested again.
    @Test func prefetchedPageIsDroppedWhenThePageBeforeIsNotWritten() async throws {
        let cache = try PagedCache(service)
        let service = service
        cache.memory.setWriteFailure { _ in
            service.state.withLock { $0.asked.contains("1") } ? .storageFull : nil
        }
        await #expect(throws: CacheError.self) { try await cache.cache.sync() }
        let before = try token(cache)
        cache.memory.setWriteFailure(nil)
        try await cache.cache.sync()
        #expect(try before != "4" && token(cache) == "4")
        let rows = try await whole()
        #expect(try cache.rows(butFor: ["change", "event", "flag", "sqlite_sequence"]) == rows)
    }

    /// A change after the request of a page may be missing from it, even if the next operation begins later.
    @Test func hintBetweenOperationsDropsPrefetchedPage() async throws {
        let cache = try PagedCache(service)
        #expect(await cache.cache.databases[0].driver.forgetsPageAheadAtHint())
    }

    /// After an expiry each page requests the deletions since the device's last intact version, also a page ahead.
    @Test func everyPageRequestsDeletionsAfterTheLastIntactVersion() async throws {
        let cache = try PagedCache(service)
        try await cache.cache.sync()
        service.state.withLock { $0.versions = [] }
        try cache.store.dropToken(of: PagedCache.zone, lastIntactVersion: 12)
        try await cache.cache.sync()
        #expect(service.state.withLock { $0.versions.prefix(4) } == [12, 12, 12, 12])
        // Requests after the full fetch do not name a version.
        #expect(service.state.withLock { $0.versions.dropFirst(4).allSatisfy { $0 == nil } })
    }

    /// On a slow network a large page may never arrive in time.
    @Test func timedOutPageIsRequestedSmaller() async throws {
        let cache = try PagedCache(service)
        let isLost = Mutex(true)
        service.state.withLock { state in
            state.trouble = { token in
                guard token == "1", isLost.withLock({ $0 }) else { return }
                throw TransportError(.timedOut, "The service did not answer in time.")
            }
        }
        await #expect(throws: CacheError.self) { try await cache.cache.sync() }
        isLost.withLock { $0 = false }
        try await cache.cache.sync()
        #expect(
            service.state.withLock { $0.limits.prefix(5) } == [2_000, 2_000, 1_000, 1_000, 1_000])
        #expect(try token(cache) == "4")
        var settings = SyncSettings()
        settings.recordsPerPage = 7
        let other = PagedService(RandomPages.plain(2))
        try await PagedCache(other, settings: settings).cache.sync()
        #expect(other.state.withLock { $0.limits } == [7, 7])
    }

    /// The rows of a cache whose fetch had no fault.
    private func whole() async throws -> [String] {
        let cache = try PagedCache(PagedService(RandomPages.plain(4)))
        try await cache.cache.sync()
        return try cache.rows(butFor: ["change", "event", "flag", "sqlite_sequence"])
    }
}

extension SyncDriver {
    fileprivate func forgetsPageAheadAtHint() -> Bool {
        let question = PageQuestion(zone: PagedCache.zone, token: "1", knownTags: [], limit: nil)
        pageAhead = PageAhead(question, roomBytes: 0, in: world) { _ in throw CancellationError() }
        receive(ChangeHint(zone: PagedCache.zone))
        return pageAhead == nil
    }
}
