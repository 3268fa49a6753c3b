import StratusRecords
import StratusStorage
import StratusWire

/// A query under way: scans the records of a type and keeps no more than a page and its like of them.
struct RecordSearch: Sendable {
    struct Found: Sendable {
        var position: RecordOrder.Position
        var row: RecordRow
    }

    struct Page: Sendable {
        var found: [Found]
        var hasMore: Bool
    }

    let matcher: RecordMatcher
    let order: RecordOrder
    let recordType: String
    let limit: Int

    /// The records after a position, in one zone or in all.
    func page(
        of reader: any StoreReader, in context: RequestContext, zoneName: String?,
        after start: RecordOrder.Position?
    ) throws -> Page {
        var zones = try (zoneName.map { [$0] } ?? reader.zones().map(\.name))
            .compactMap { try context.livingZone(named: $0, reader) }
        if zoneName != nil, zones.isEmpty { throw ServiceError.zoneNotFound }
        zones.sort { StoredNameOrder.isBefore($0.row.name, $1.row.name) }
        let found =
            try order.isByName
            ? inScanOrder(reader, zones, after: start) : sorted(reader, zones, after: start)
        return Page(found: Array(found.prefix(limit)), hasMore: found.count > limit)
    }

    /// Without sort keys the scan's own order is the query's, and a page begins where the last ended.
    private func inScanOrder(
        _ reader: any StoreReader, _ zones: [(row: ZoneRow, rights: ZoneRights)],
        after start: RecordOrder.Position?
    ) throws -> [Found] {
        var found: [Found] = []
        for (zone, rights) in zones {
            if let start, StoredNameOrder.isBefore(zone.name, start.zoneName) { continue }
            let name = start?.zoneName == zone.name ? start?.recordName : nil
            try reader.scan(type: recordType, in: zone.key, after: name) { row in
                if try rights.canRead(row) && matcher.matches(row) {
                    let position = try order.position(of: row, in: zone.name)
                    found.append(Found(position: position, row: row))
                }
                return found.count <= limit
            }
            if found.count > limit { break }
        }
        return found
    }

    /// The first records of the order after `start`. At most two pages are held at a time.
    private func sorted(
        _ reader: any StoreReader, _ zones: [(row: ZoneRow, rights: ZoneRights)],
        after start: RecordOrder.Position?
    ) throws -> [Found] {
        var best: [Found] = []
        var last: RecordOrder.Position?
        func trim() {
            best.sort { order.isBefore($0.position, $1.position) }
            if best.count > limit + 1 {
                best.removeLast(best.count - limit - 1)
                last = best.last?.position
            }
        }
        for (zone, rights) in zones {
            try reader.scan(type: recordType, in: zone.key, after: nil) { row in
                guard try rights.canRead(row) && matcher.matches(row) else { return true }
                let position = try order.position(of: row, in: zone.name)
                if let start, !order.isBefore(start, position) { return true }
                if let last, !order.isBefore(position, last) { return true }
                best.append(Found(position: position, row: row))
                if best.count >= 2 * (limit + 1) { trim() }
                return true
            }
        }
        trim()
        return best
    }
}
