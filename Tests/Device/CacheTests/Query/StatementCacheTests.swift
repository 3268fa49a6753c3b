import StratusClient
import StratusRecords
import StratusSync
import Testing

@testable import StratusCache

/// A connection caches a limited number of statements for queries.
@Suite struct StatementCacheTests {
    @Test func queriesBeyondTheStatementLimitReturnTheSame() throws {
        let device = try Device(RealService())
        try device.cache.file.declare(CacheQueryTests.types)
        try device.cache.save((0..<30).map { CacheQueryTests.note("note \($0)", "", rank: $0) })
        for _ in 0..<2 {
            for count in 1...CacheStore.queriesKept + 20 {
                // A list of another length gives another SQL text.
                let query = CacheQuery("Note").where(
                    CacheQueryTests.Note.rank.isOne(of: Array(0..<count)))
                #expect(try device.cache.records(matching: query).count == min(count, 30))
            }
        }
        #expect(device.cache.file.keptQueries.withLock { $0.count } == CacheStore.queriesKept)
    }
}
