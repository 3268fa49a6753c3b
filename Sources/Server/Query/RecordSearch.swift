import StratusMatching
import StratusRecords
import StratusStorage

/// Finds a page of a query's records through the indexes of their type.
///
/// With sort keys, either the index of the first one is scanned in order and the filters are checked on
/// each record (``OrderedIndexScan``), or what the most selective filter finds is collected and sorted,
/// whichever reads fewer records. Without sort keys, the index of the most selective filter is scanned. The
/// filters are always checked on the records themselves; indexes only say where to look.
///
/// The work is bounded: when a query has read as many records as it may, the page ends there, and the next
/// page continues.
package struct RecordSearch: Sendable {
    /// A zone to search.
    package struct Zone {
        package var row: ZoneRow
        /// Whether the caller may see a record.
        package var canRead: (RecordRow) -> Bool

        package init(row: ZoneRow, canRead: @escaping (RecordRow) -> Bool) {
            self.row = row
            self.canRead = canRead
        }
    }

    package struct Found: Sendable {
        package var position: QueryPosition
        package var row: RecordRow
    }

    package struct Page: Sendable {
        package var found: [Found]
        /// Where the next page begins; nil on the last one.
        package var next: QueryPosition?
        /// The number of records that were read.
        package var scanned = 0
    }

    let matcher: RecordMatcher
    let order: RecordOrder
    let accessPaths: [AccessPath]
    let limit: Int
    let limits: Limits

    package init(matcher: RecordMatcher, order: RecordOrder, limit: Int, limits: Limits) {
        self.matcher = matcher
        self.order = order
        self.limit = limit
        self.limits = limits
        accessPaths = matcher.accessPaths
    }

    var recordType: String { matcher.recordType }

    /// How many keys a position has.
    package var keysPerPosition: Int { max(order.keys.count, 1) }

    /// The records after a position.
    ///
    /// - Parameter start: Where the page before ended; nil is the beginning.
    package func page(
        of reader: any StoreReader, in zones: [Zone], after start: QueryPosition?
    ) throws -> Page {
        let scan = try IndexScan(reader: reader, search: self, zones: zones)
        let rows = zones.map(\.row).sorted { NameOrder.isBefore($0.name, $1.name) }
        return try order.keys.isEmpty
            ? inIndexOrder(scan, rows, after: start) : sorted(scan, rows, after: start)
    }

    // MARK: Without sort keys

    private func inIndexOrder(
        _ scan: IndexScan, _ zones: [ZoneRow], after start: QueryPosition?
    ) throws -> Page {
        var page = Page(found: [])
        var bytes = 0
        for zone in zones {
            if let start, NameOrder.isBefore(zone.name, start.place.zoneName) { continue }
            let start = start?.place.zoneName == zone.name ? start : nil
            let number = try start?.accessPath ?? scan.mostSelectivePath(in: [zone]).number
            let accessPath = try scan.accessPath(number)
            let stopped = try scan.follow(accessPath, number: number, in: zone, after: start) {
                position, match, _ in
                if let row = match {
                    if page.found.count == limit || bytes >= limits.queriedBytesPerAnswer {
                        page.next = page.found.last?.position
                        return false
                    }
                    bytes += row.payload.count
                    page.found.append(Found(position: position, row: row))
                }
                guard scan.isUsedUp else { return true }
                page.next = position
                return false
            }
            if stopped { break }
        }
        page.scanned = scan.scanned
        return page
    }

    // MARK: With sort keys

    private func sorted(
        _ scan: IndexScan, _ zones: [ZoneRow], after start: QueryPosition?
    ) throws -> Page {
        let plan = try scan.plan(in: zones, limit: limit)
        var page = SortedPage(
            order: order, limit: limit, maximumBytes: limits.queriedBytesPerAnswer, start: start)
        if case .collect(let number, let canScanInOrder) = plan {
            if try collect(scan, number, zones, into: &page) { return page.page(scan.scanned) }
            guard canScanInOrder else { throw ServiceError.indexIsBuilding }
            page = SortedPage(
                order: order, limit: limit, maximumBytes: limits.queriedBytesPerAnswer,
                start: start)
        }
        for zone in zones {
            scan.beginShare()
            let ordered = OrderedIndexScan(
                indexScan: scan, zone: zone, start: start, zoneCount: zones.count)
            try ordered.run { position, match in
                // A record after the page's end ends the scan, as all that follow come after it too.
                if let match, !page.add(position, match) { return false }
                if page.isBeyond(position) { return false }
                guard scan.isShareUsedUp else { return true }
                page.end(at: position)
                return false
            }
        }
        return page.page(scan.scanned)
    }

    /// Collects what an access path finds.
    ///
    /// - Returns: Whether all of it was read.
    private func collect(
        _ scan: IndexScan, _ number: Int, _ zones: [ZoneRow], into page: inout SortedPage
    ) throws -> Bool {
        let accessPath = try scan.accessPath(number)
        scan.readOrder()
        for zone in zones {
            let stopped = try scan.follow(accessPath, number: number, in: zone, after: nil) {
                _, match, values in
                if let row = match {
                    let place = order.place(of: values, in: zone.name)
                    _ = page.add(QueryPosition(place: place), row)
                }
                // Twice the limit, as the records were counted before; only their size was unknown.
                return !scan.isUsedUpTwice
            }
            if stopped { return false }
        }
        return true
    }
}
