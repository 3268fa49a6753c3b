import Dispatch
import StratusRecords
import StratusSync
import StratusWire
import Synchronization
import TestSeeds
import Testing

@testable import StratusCache

/// Pages that arrive while others are written are written in one transaction, as if the service had sent a larger page.
@Suite(.timeLimit(.minutes(20))) struct CombinedPageTests {
    /// There are few names, so that later pages change, delete and recreate most records.
    @Test(arguments: Seeds.forTest("CombinedPageTests", count: 20))
    func combinedPagesEqualSinglePages(_ seed: UInt64) async throws {
        var pages = RandomPages(seed: seed)
        let bytes = (0..<8).map { pages.page($0 + 1, moreComing: $0 < 7) }
        let service = PagedService(bytes)
        let (single, together) = (try PagedCache(service), try PagedCache(service))
        for cache in [single, together] {
            _ = try cache.store.apply(
                DatabasePage(changed: [PagedCache.zone], token: "1"), isFull: true)
            _ = try cache.store.beginFetch(PagedCache.zone)
        }
        var sum: ZonePage?
        for number in 0..<bytes.count {
            let page = try await single.remote.zoneChanges(
                PagedCache.zone, since: number == 0 ? nil : "\(number)", knowing: [], limit: nil)
            _ = try single.store.apply(page, of: PagedCache.zone)
            sum?.append(page)
            sum = sum ?? page
            // Some pages end a transaction.
            guard pages.below(3) == 0 || !page.moreComing, let whole = sum else { continue }
            _ = try together.store.apply(whole, of: PagedCache.zone)
            sum = nil
            #expect(try together.recordRows() == single.recordRows(), "after page \(number)")
        }
        #expect(try !single.recordRows().isEmpty, "Otherwise nothing is compared.")
        for cache in [single, together] {
            let zone = try cache.store.read { try cache.store.zone(PagedCache.zone, $0) }
            #expect(zone?.token == "8" && zone?.isRefetching == false)
        }
    }

    /// The first page is written only after the others were requested.
    @Test func pagesArrivingDuringAWriteAreWrittenInOneTransaction() async throws {
        let pages = RandomPages.plain(6)
        func sync(pageAheadBytes: Int) async throws -> (writes: Int, rows: [String]) {
            let (service, asked) = (PagedService(pages), DispatchSemaphore(value: 0))
            service.state.withLock { state in
                state.trouble = { token in if token != nil { asked.signal() } }
            }
            let cache = try PagedCache(service, pageAheadBytes: pageAheadBytes)
            let waits = Mutex((count: 0, areLate: false))
            cache.memory.setWriteFailure { _ in
                guard service.isAsked, waits.withLock({ $0.count == 0 }) else { return nil }
                for _ in 0..<(pageAheadBytes == 0 ? 1 : 5) {
                    let isLate = asked.wait(timeout: .now() + 120) == .timedOut
                    waits.withLock { $0 = ($0.count + 1, $0.areLate || isLate) }
                }
                return nil
            }
            try await cache.cache.sync()
            #expect(waits.withLock { $0.count > 0 && !$0.areLate })
            // On a busy machine a sync can take so long that the next fetch is due.
            #expect(
                service.state.withLock { $0.asked.prefix(6) } == [nil, "1", "2", "3", "4", "5"])
            return (cache.memory.writeCount, try cache.recordRows())
        }
        let (single, together) = (
            try await sync(pageAheadBytes: 0), try await sync(pageAheadBytes: 1_000_000)
        )
        // All pages between the first one and the last one had arrived.
        #expect(together.writes <= single.writes - 3)
        #expect(together.rows == single.rows)
    }

    /// Memory is bounded: no more pages are requested ahead than fit.
    @Test func prefetchIsLimitedByMemory() async throws {
        let pages = RandomPages.plain(6)
        let service = PagedService(pages)
        let cache = try PagedCache(service)
        let size = try await cache.remote.zoneChanges(
            PagedCache.zone, since: nil, knowing: [], limit: nil
        ).sizeEstimateBytes
        #expect(size > 0)
        service.state.withLock { $0.asked = [] }
        let remote = cache.remote
        func ask(roomBytes: Int) -> PageAhead {
            PageAhead(
                PageQuestion(zone: PagedCache.zone, knownTags: []), roomBytes: roomBytes,
                in: cache.store.world
            ) {
                try await remote.zoneChanges(
                    $0.zone, since: $0.token, knowing: $0.knownTags, limit: $0.limit)
            }
        }
        let full = ask(roomBytes: size)
        _ = try await full.page()
        #expect(full.next == nil)
        #expect(service.state.withLock { $0.asked } == [nil])
        let following = try #require(full.following(roomBytes: 0), "one is always ahead")
        _ = try await following.page()
        #expect(following.next == nil)
        let roomy = ask(roomBytes: size + 1)
        _ = try await roomy.page()
        let next = try #require(roomy.next)
        _ = try await next.page()
        #expect(next.next == nil, "what is left is the size of a byte")
        roomy.cancel()
        #expect(next.following(roomBytes: 1_000) == nil, "dropped")
    }
}
