import StratusRecords
import StratusStorage
import StratusWire

/// A query under way: finds a page of records through the indexes of their type.
///
/// With sort keys, either the index of the first one is followed and the filters are checked on the way
/// (``OrderedWalk``), or what the most selective filter finds is collected and sorted; whichever looks
/// at fewer records. Without, the most selective filter's index is followed as it is. The filters are
/// always checked on the records themselves; the indexes only say where to look.
///
/// The work is bounded: when a query has looked at as many records as it may, the page ends where it
/// stands, and the next goes on from there.
struct RecordSearch: Sendable {
    struct Found: Sendable {
        var position: QueryPosition
        var row: RecordRow
    }

    struct Page: Sendable {
        var found: [Found]
        /// Where the next page begins; nil on the last one.
        var next: QueryPosition?
        /// Records and entries that were looked at.
        var scanned = 0
    }

    let matcher: RecordMatcher
    let order: RecordOrder
    let drives: [IndexDrive]
    let limit: Int
    let limits: Limits

    init(matcher: RecordMatcher, order: RecordOrder, limit: Int, limits: Limits) {
        self.matcher = matcher
        self.order = order
        self.limit = limit
        self.limits = limits
        drives = matcher.drives
    }

    var recordType: String { matcher.recordType }

    /// How many keys a position has.
    var keysPerPosition: Int { max(order.keys.count, 1) }

    /// The records after a position, in zones of which the caller may see so much.
    func page(
        of reader: any StoreReader, in visible: [(row: ZoneRow, rights: ZoneRights)],
        after start: QueryPosition?
    ) throws -> Page {
        let zones = visible.map(\.row).sorted { StoredNameOrder.isBefore($0.name, $1.name) }
        let rights = Dictionary(uniqueKeysWithValues: visible.map { ($0.row.key, $0.rights) })
        let scan = try IndexScan(reader: reader, search: self, rights: rights)
        return try order.keys.isEmpty
            ? inIndexOrder(scan, zones, after: start) : sorted(scan, zones, after: start)
    }

    // MARK: Without sort keys

    private func inIndexOrder(
        _ scan: IndexScan, _ zones: [ZoneRow], after start: QueryPosition?
    ) throws -> Page {
        var page = Page(found: [])
        var bytes = 0
        for zone in zones {
            if let start, StoredNameOrder.isBefore(zone.name, start.zoneName) { continue }
            let start = start?.zoneName == zone.name ? start : nil
            let number = try start?.drive ?? scan.mostSelectiveDrive(in: [zone]).number
            let drive = try scan.drive(number)
            let stopped = try scan.follow(drive, number: number, in: zone, after: start) {
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
        let way = try scan.way(in: zones, limit: limit)
        var page = SortedPage(
            order: order, limit: limit, maximumBytes: limits.queriedBytesPerAnswer, start: start)
        if case .collect(let number, let canWalk) = way {
            if try collect(scan, number, zones, into: &page) { return page.page(scan.scanned) }
            guard canWalk else { throw ServiceError.indexIsBuilding }
            page = SortedPage(
                order: order, limit: limit, maximumBytes: limits.queriedBytesPerAnswer,
                start: start)
        }
        for zone in zones {
            scan.beginShare()
            let walk = OrderedWalk(scan: scan, zone: zone, start: start, zoneCount: zones.count)
            try walk.run { position, match in
                // What lies after the page's end is of no use, and all that follows lies there too.
                if let match, !page.add(position, match) { return false }
                if page.isBeyond(position) { return false }
                guard scan.isShareUsedUp else { return true }
                page.end(at: position)
                return false
            }
        }
        return page.page(scan.scanned)
    }

    /// Collects what a drive finds.
    ///
    /// - Returns: whether all of it was looked at.
    private func collect(
        _ scan: IndexScan, _ number: Int, _ zones: [ZoneRow], into page: inout SortedPage
    ) throws -> Bool {
        let drive = try scan.drive(number)
        scan.readOrder()
        for zone in zones {
            let stopped = try scan.follow(drive, number: number, in: zone, after: nil) {
                _, match, values in
                if let row = match {
                    _ = page.add(order.position(of: row, in: zone.name, values), row)
                }
                // Twice: the records were counted before, and only their size can be a surprise.
                return !scan.isUsedUpTwice
            }
            if stopped { return false }
        }
        return true
    }
}

extension ServiceError {
    static let indexIsBuilding = ServiceError(
        .tryAgainLater, "An index of the record type is being built; try again.",
        retryAfterSeconds: 2)
}
