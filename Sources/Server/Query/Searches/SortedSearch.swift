import StratusMatching
import StratusRecords
import StratusStorage

/// Finds a page of a sorted query: by reading records in the order of the first sort key and checking the
/// filters on them, or by collecting and sorting what an access path finds.
///
/// Which of the two reads less depends on where the matches are in the order, which no count of entries shows. So the
/// first is started, and given up for the second when it has read as many records as the second would: a page costs at
/// most twice as much as with the cheaper of the two.
struct SortedSearch {
    private let search: RecordSearch
    private let scan: IndexScan
    private let zones: [ZoneRow]
    private let start: QueryPosition?

    init(
        _ search: RecordSearch, _ scan: IndexScan, in zones: [ZoneRow],
        after start: QueryPosition?
    ) {
        self.search = search
        self.scan = scan
        self.zones = zones
        self.start = start
    }

    func page() throws -> RecordSearch.Page {
        guard try scan.canScanInOrder() else { return try collectedOrWaiting() }
        // Without filters, or with filters on the sorted field alone, the scan is as long as the page.
        guard !scan.isServedBySortIndex, scan.hasUsablePaths else { return try inOrder() }
        let few = max(search.limit, Self.fewRecords)
        let least = try scan.mostSelectivePath(in: zones, below: few)
        if least.count != nil, let page = try collected(least.number) { return page }
        let compound = scan.compound
        var alternative: Alternative? = Alternative(
            count: nil, path: least.number, lookedAt: few)
        if let compound, compound.groups.count > 1 {
            // Read value by value; if most records match, the first sort key's own index is cheaper.
            var bySide: Alternative? = Alternative(
                count: compound.recordsRead(forPageOf: search.limit), path: least.number,
                lookedAt: Self.fewRecords)
            if var page = try inOrder(&bySide, nil) {
                page.compound = compound.definition
                return page
            }
        }
        var page =
            try inOrder(&alternative, compound)
            ?? collectedOrInOrder(alternative?.path ?? least.number)
        page.compound =
            (compound
            ?? search.compound(worthMakingAfter: page, path: alternative?.path ?? least.number))?
            .definition
        return page
    }

    /// At most this many records are collected without considering the other way.
    private static let fewRecords = 16

    private func emptyPage() -> SortedPage {
        SortedPage(
            order: search.order, limit: search.limit,
            maximumBytes: search.limits.queriedBytesPerAnswer, start: start)
    }

    // MARK: Without an index of the sort keys

    /// Collects the records if they are few enough; otherwise waits for the index, with pages without records.
    private func collectedOrWaiting() throws -> RecordSearch.Page {
        let least = try scan.mostSelectivePath(
            in: zones, below: search.limits.recordsScannedPerQuery)
        if least.count != nil, let page = try collected(least.number) { return page }
        return scan.waitingPage(
            for: search.order.keys.indices.map { search.sortIndex(of: $0) },
            from: start ?? search.order.beginning)
    }

    // MARK: Collecting

    /// The page of the records that an access path finds; nil when there are too many.
    private func collected(_ number: Int) throws -> RecordSearch.Page? {
        let accessPath = try scan.accessPath(number)
        var page = emptyPage()
        scan.readOrder()
        scan.beginCollecting()
        for zone in zones {
            let stopped = try scan.follow(accessPath, number: number, in: zone, after: nil) {
                _, match, values in
                if let row = match {
                    let place = search.order.place(of: values, in: zone.name)
                    _ = page.add(QueryPosition(place: place), row)
                }
                return !scan.hasCollectedTooMuch
            }
            if stopped { return nil }
        }
        return page.page(scan.scanned)
    }

    // MARK: In order

    /// How much the other way would read.
    private struct Alternative {
        /// Nil while it is larger than what was counted so far.
        var count: Int?
        var path: Int
        /// The number of records that had been read when it was last counted.
        var lookedAt: Int
    }

    private func inOrder() throws -> RecordSearch.Page {
        var alternative: Alternative?
        guard let page = try inOrder(&alternative, nil) else {
            preconditionFailure("A scan was given up although there is no other access path.")
        }
        return page
    }

    /// Collects, or scans in order: only the size of the records can be too large here, not their number.
    private func collectedOrInOrder(_ path: Int) throws -> RecordSearch.Page {
        try collected(path) ?? inOrder()
    }

    /// - Parameter compound: A compound index to read instead of the first sort key's.
    /// - Returns: Nil when it was given up for the other way.
    private func inOrder(
        _ alternative: inout Alternative?, _ compound: CompoundIndex?
    ) throws -> RecordSearch.Page? {
        var isGivenUp = false
        var matches = 0
        var page = emptyPage()
        let sources = try scan.sources(of: compound)
        for (zone, source) in zones.flatMap({ zone in sources.map { (zone, $0) } })
        where !isGivenUp {
            scan.beginShare(partsPerZone: sources.count)
            let ordered = OrderedIndexScan(
                indexScan: scan, zone: zone, start: start, source: source,
                partCount: zones.count * sources.count)
            try ordered.run { position, match in
                // A record after the page's end ends the scan, as all that follow come after it too.
                if let match, !page.add(position, match) { return false }
                if page.isBeyond(position) { return false }
                if match != nil { matches += 1 }
                if try isDearer(than: &alternative, matches) {
                    isGivenUp = true
                    return false
                }
                guard scan.isShareUsedUp else { return true }
                page.end(at: position)
                return false
            }
        }
        return isGivenUp ? nil : page.page(scan.scanned)
    }

    /// Whether the rest of the page is expected to cost more than the other way.
    private func isDearer(than alternative: inout Alternative?, _ matches: Int) throws -> Bool {
        guard var known = alternative, scan.scanned >= known.lookedAt else { return false }
        defer { alternative = known }
        if known.count == nil {
            let bound = min(2 * known.lookedAt, search.limits.recordsScannedPerQuery)
            let least = try scan.mostSelectivePath(in: zones, below: bound)
            known.count = least.count
            known.path = least.number
            known.lookedAt = least.count == nil ? 2 * known.lookedAt : known.lookedAt
        }
        guard let count = known.count else { return false }
        if scan.scanned >= count { return true }
        // As many records are expected to be read as the matches so far suggest.
        let left = search.limit - matches
        let isFar = left > 0 && scan.scanned * left > count * max(matches, 1)
        known.lookedAt = min(count, scan.scanned + Self.fewRecords)
        return isFar
    }
}
