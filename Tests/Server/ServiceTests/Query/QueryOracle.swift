import StratusMatching
import StratusQuery
import StratusRecords
import StratusStorage
import StratusWire
import Testing

@testable import StratusService

extension Person {
    /// Fetches all pages and compares them with a scan of every record.
    func compare(_ query: QueryDictionary, zoneName: String?, limit: Int) async throws {
        let expected = try await everything(query, zoneName)
        var found: [String] = []
        var marker: String?
        var pages = 0
        repeat {
            let page = try await ask(
                RecordsQuery.self,
                .init(
                    query: query, zoneID: zoneName.map(zone), isZoneWide: zoneName == nil,
                    resultsLimit: limit, continuationMarker: marker))
            try #require(page.records.count <= limit)
            found += page.records.compactMap(\.record).map(QueryScript.name)
            marker = page.continuationMarker
            pages += 1
            try #require(pages < 2_000, "\(query)")
        } while marker != nil
        if query.sortBy.isEmpty {
            try #require(found.sorted() == expected.sorted(), "\(query) \(zoneName ?? "")")
        } else {
            try #require(found == expected, "\(query) \(zoneName ?? "")")
        }
    }

    /// The result of a scan of every record, by the rules of subscriptions.
    func everything(_ query: QueryDictionary, _ zoneName: String?) async throws -> [String] {
        let schema = try await world.service.components.schemas.schema(of: world.address)
        let matcher = try RecordMatcher(query, schema: schema)
        let order = try RecordOrder(query, schema: schema)
        let address = DatabaseAddress(world.address, .private(owner: name))
        let store = try await world.service.components.databases.store(for: address)
        return try await store.read { reader in
            var found: [(RecordOrder.Place, String)] = []
            for zone in try reader.zones() where zoneName == nil || zone.name == zoneName {
                try reader.scan(type: query.recordType, in: zone.key, after: nil) { row in
                    if try matcher.matches(row) {
                        let values = try RecordValues(row)
                        found.append(
                            (order.place(of: values, in: zone.name), zone.name + row.name))
                    }
                    return true
                }
            }
            return found.sorted { order.isBefore($0.0, $1.0) }.map(\.1)
        }
    }
}
