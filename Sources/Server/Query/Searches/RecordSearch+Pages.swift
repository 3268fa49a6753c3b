import StratusMatching
import StratusRecords
import StratusStorage

extension RecordSearch {
    /// The records after a position.
    ///
    /// - Parameter start: Where the previous page ended; nil for the beginning.
    package func page(
        of reader: any StoreReader, in zones: [Zone], after start: QueryPosition?
    ) throws -> Page {
        let scan = try IndexScan(reader: reader, search: self, zones: zones)
        let rows = zones.map(\.row).sorted { NameOrder.isBefore($0.name, $1.name) }
        var page =
            try order.keys.isEmpty
            ? inIndexOrder(scan, rows, after: start)
            : SortedSearch(self, scan, in: rows, after: start).page()
        page.entriesRead = scan.entriesRead
        return page
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
            let number =
                try start?.accessPath
                ?? scan.mostSelectivePath(
                    in: [zone], below: limits.recordsScannedPerQuery
                ).number
            let accessPath = try scan.accessPath(number)
            if let start, !scan.canFollow(accessPath) {
                // The previous page used an index that was dropped since.
                page.scanned = scan.scanned
                guard page.found.isEmpty else {
                    page.next = page.found.last?.position
                    return page
                }
                return scan.waitingPage(
                    for: accessPath.segments.map(\.definition), from: start)
            }
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
}
