import StratusClient
import StratusRecords
import StratusSync
import StratusWire
import TestSeeds
import Testing

@testable import StratusCache

/// Rows that are written directly from an answer equal, byte for byte, those that are written from record objects.
@Suite struct FetchedRowTests {
    @Test(arguments: Seeds.forTest("FetchedRowTests", count: 20))
    func directlyWrittenRowsEqualRowsOfRecordObjects(_ seed: UInt64) async throws {
        var pages = RandomPages(seed: seed)
        let service = PagedService()
        let (direct, ordinary) = (try PagedCache(service), try PagedCache(service))
        for cache in [direct, ordinary] {
            _ = try cache.store.apply(
                DatabasePage(changed: [PagedCache.zone], token: "1"), isFull: true)
        }
        var rowCount = 0
        for number in 0..<12 {
            let bytes = pages.page(number + 1, moreComing: number % 5 != 4)
            service.state.withLock { $0.pages.append(bytes) }
            try step(&pages, direct, ordinary)
            let token: String?
            switch try (
                direct.store.beginFetch(PagedCache.zone), ordinary.store.beginFetch(PagedCache.zone)
            ) {
            case (.everything, .everything): token = nil
            case (.token(let one), .token(let other)):
                #expect(one == other)
                token = one
            default: throw CacheError(.damaged, "The zone is not known here.")
            }
            // Without a token, as after an expiry, the same page is returned as the first one.
            if token == nil { service.state.withLock { $0.pages[0] = bytes } }
            let rows = try await direct.remote.zoneChanges(
                PagedCache.zone, since: token, knowing: [], limit: nil)
            rowCount += rows.records.count { if case .row = $0 { true } else { false } }
            let objects = try await ordinary.pageOfObjects(since: token, bytes)
            let (one, other) = (
                try direct.store.apply(rows, of: PagedCache.zone),
                try ordinary.store.apply(objects, of: PagedCache.zone)
            )
            #expect(one.changedIDs == other.changedIDs)
            #expect(one.events.map { "\($0)" } == other.events.map { "\($0)" })
            let fetched = one.fetched.map { rows in rows.rows.map { rows.id($0) } } ?? []
            #expect(Set(one.rows.keys).union(fetched) == Set(other.rows.keys))
            let differing = Set(try direct.rows()).symmetricDifference(try ordinary.rows())
            try #require(differing.isEmpty, "page \(number): \(differing.sorted())")
        }
        #expect(rowCount > 0, "Otherwise nothing is compared.")
    }

    /// A random local change between two pages.
    private func step(
        _ pages: inout RandomPages, _ direct: PagedCache, _ ordinary: PagedCache
    ) throws {
        let (kind, name, rank) = (pages.below(8), pages.name(), pages.below(100))
        for cache in [direct, ordinary] {
            let id = CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(PagedCache.zone))
            switch kind {
            case 0, 1:
                let record =
                    try cache.cache.record(for: id) ?? CKRecord(recordType: "Note", recordID: id)
                guard record.recordType != CKRecord.SystemType.share else { continue }
                record["rank"] = rank
                try cache.cache.save(record)
            case 2: try cache.cache.delete(id)
            case 3 where rank < 50:
                try cache.store.dropToken(of: PagedCache.zone, lastIntactVersion: nil)
            case 3: try cache.store.dropToken(of: PagedCache.zone, lastIntactVersion: 12)
            case 4 where rank < 30:
                let record = CKRecord(recordType: "Item", recordID: id)
                record.encryptedValues["text"] = "secret"
                try cache.cache.save(record)
            default: break
            }
        }
    }
}
