import StratusMatching
import StratusRecords
import StratusStorage

/// Reads a zone's records in the order of a query, along the index of its first sort key.
///
/// Records with equal keys are sorted in memory by the remaining sort keys. If there are too many of them,
/// the index of the next sort key is scanned instead, and records that differ in the keys before are
/// skipped.
struct OrderedIndexScan {
    let indexScan: IndexScan
    let zone: ZoneRow
    let start: QueryPosition?
    /// What is read instead of the first sort key's index.
    let source: Source?
    /// The number of such scans in the query.
    let partCount: Int

    private var order: RecordOrder { indexScan.search.order }

    /// The most records that are sorted in memory.
    private var maximumGroup: Int {
        let limits = indexScan.search.limits
        return max(min(limits.recordsSortedTogether, limits.recordsScannedPerQuery / partCount), 16)
    }

    /// Visits the records after the start until the visitor returns false. Records that do not match are visited too,
    /// as they show how far the scan has come.
    func run(_ visit: IndexScan.Visit) throws {
        _ = try scan(Level(number: 0, pinned: [], resumes: start != nil), visit)
    }

    /// The scan of one sort key's index, for records that are equal in the keys before.
    private struct Level {
        var number: Int
        var pinned: [[UInt8]]
        /// Whether the start is one of these records.
        var resumes: Bool
    }

    private func definition(of number: Int) throws -> IndexRow.Definition {
        let key = order.keys[number]
        return .value(key.field, key.type, of: indexScan.search.recordType)
    }

    /// Entries in the order of a sort key.
    struct Source {
        var index: IndexRow.Key
        /// What precedes the sort key in the keys of a compound index.
        var prefix: [UInt8] = []
    }

    private func source(of number: Int) throws -> Source {
        if number == 0, let source { return source }
        guard let index = indexScan.index(try definition(of: number)) else {
            throw ServiceError.indexIsBuilding
        }
        return Source(index: index)
    }

    /// Entries whose keys are those of the sort key alone.
    private func entries(
        of source: Source, between bounds: (IndexEntry, IndexEntry), isAscending: Bool, limit: Int
    ) throws -> [IndexEntry] {
        var bounds = bounds
        if !source.prefix.isEmpty {
            bounds.0.key = source.prefix + bounds.0.key
            bounds.1.key = source.prefix + bounds.1.key
        }
        var found = try indexScan.reader.entries(
            of: source.index, in: zone.key, between: bounds, isAscending: isAscending, limit: limit)
        guard !source.prefix.isEmpty else { return found }
        for index in found.indices { found[index].key.removeFirst(source.prefix.count) }
        return found
    }

    private func isLast(_ level: Level) -> Bool { level.number == order.keys.count - 1 }

    /// - Returns: false when the visitor stopped.
    private func scan(_ level: Level, _ visit: IndexScan.Visit) throws -> Bool {
        let key = order.keys[level.number]
        if let centre = key.centre { return try rings(level, around: centre, visit) }
        if key.field == .system(.recordName) { return try names(level, visit) }
        let resumed = level.resumes ? start?.place.keys[level.number] : nil
        if let resumed, try !group(level, resumed, resumes: true, visit) { return false }
        let ranges = indexScan.ranges(of: try definition(of: level.number))
        for var range in key.isAscending ? ranges : ranges.reversed() {
            if let resumed {
                let rest =
                    key.isAscending
                    ? KeyRange(lower: KeyRange.successor(of: resumed), upper: IndexKey.last)
                    : KeyRange(lower: IndexKey.missing, upper: resumed)
                range = range.intersection(rest)
            }
            if try !range.isEmpty && !groups(level, in: range, visit) { return false }
        }
        return true
    }

    /// Visits the records of a range of keys, one key after the other.
    private func groups(
        _ level: Level, in range: KeyRange, _ visit: IndexScan.Visit
    ) throws -> Bool {
        let isAscending = order.keys[level.number].isAscending
        let source = try source(of: level.number)
        var range = range
        while !range.isEmpty {
            let entries = try entries(
                of: source, between: range.bounds, isAscending: isAscending,
                limit: IndexScan.entriesPerStep)
            guard let last = entries.last else { return true }
            let isWhole = entries.count < IndexScan.entriesPerStep
            // The last key may have more entries than were read.
            let whole = isWhole ? entries[...] : entries.prefix { $0.key != last.key }
            if try !whole.isEmpty && !visitWhole(level, Array(whole), visit) { return false }
            if isWhole { return true }
            if try !group(level, last.key, resumes: false, visit) { return false }
            if isAscending {
                range.lower = KeyRange.successor(of: last.key)
            } else {
                range.upper = last.key
            }
        }
        return true
    }

    /// Visits entries that are all the entries of their keys.
    private func visitWhole(
        _ level: Level, _ entries: [IndexEntry], _ visit: IndexScan.Visit
    ) throws -> Bool {
        if isLast(level) {
            // Also in a descending scan, the names of one key ascend.
            let inOrder =
                order.keys[level.number].isAscending
                ? entries : entries[...].chunkedByKey.flatMap { $0.reversed() }
            return try visitInOrder(level, inOrder, visit)
        }
        for part in entries[...].chunkedByKey {
            if try !visitSorted(level, key: part.first?.key, Array(part), visit) { return false }
        }
        return true
    }

    /// Visits the records of one key.
    ///
    /// - Parameter resumes: Whether the start is one of them.
    private func group(
        _ level: Level, _ key: [UInt8], resumes: Bool, _ visit: IndexScan.Visit
    ) throws -> Bool {
        let source = try source(of: level.number)
        if isLast(level) {
            var bounds = KeyRange.only(key).bounds
            if resumes, let start {
                if NameOrder.isBefore(zone.name, start.place.zoneName) { return true }
                if zone.name == start.place.zoneName { bounds.0.name = start.place.recordName }
            }
            return try stream(source, bounds, isAscending: true) { entries in
                try visitInOrder(level, entries, visit)
            }
        }
        let entries = try entries(
            of: source, between: KeyRange.only(key).bounds, isAscending: true,
            limit: maximumGroup + 1)
        if entries.count <= maximumGroup {
            return try visitSorted(level, key: key, entries, visit)
        }
        return try scan(
            Level(number: level.number + 1, pinned: level.pinned + [key], resumes: resumes),
            visit)
    }

    /// Visits all records by name. No two of a zone have the same.
    private func names(_ level: Level, _ visit: IndexScan.Visit) throws -> Bool {
        let isAscending = order.keys[level.number].isAscending
        let source = try source(of: level.number)
        var bounds = KeyRange.all.bounds
        if level.resumes, let start {
            let name = IndexKey.name(in: start.place.keys[level.number])
            if zone.name != start.place.zoneName {
                // The record of that name in this zone may come after the start.
                let entries = [IndexEntry(key: IndexKey.missing, name: name)]
                if try !visitSorted(level, key: nil, entries, visit) { return false }
            }
            if isAscending {
                bounds.0.name = name
            } else {
                bounds.1 = IndexEntry(key: IndexKey.missing, name: name)
            }
        }
        return try stream(source, bounds, isAscending: isAscending) { entries in
            try visitSorted(level, key: nil, entries, visit)
        }
    }

    private func stream(
        _ source: Source, _ bounds: (IndexEntry, IndexEntry), isAscending: Bool,
        _ body: ([IndexEntry]) throws -> Bool
    ) throws -> Bool {
        var bounds = bounds
        while true {
            let entries = try entries(
                of: source, between: bounds, isAscending: isAscending,
                limit: IndexScan.entriesPerStep)
            if try !entries.isEmpty && !body(entries) { return false }
            guard entries.count == IndexScan.entriesPerStep, let last = entries.last else {
                return true
            }
            if isAscending { bounds.0 = last } else { bounds.1 = last }
        }
    }

    // MARK: Visiting

    /// Visits records whose entries are in the query's order.
    private func visitInOrder(
        _ level: Level, _ entries: [IndexEntry], _ visit: IndexScan.Visit
    ) throws -> Bool {
        try !indexScan.read(entries, in: zone) { entry, row, values in
            let position = QueryPosition(
                place: .init(
                    keys: level.pinned + [entry.key], zoneName: zone.name, recordName: row.name))
            let isMatch = isMatch(row, values, level)
            return try visitAfterStart(position, isMatch, isMatch ? row : nil, visit)
        }
    }

    /// Sorts records in the query's order and visits them.
    ///
    /// - Parameter key: The key that all of them have at this level; nil if their keys differ.
    private func visitSorted(
        _ level: Level, key: [UInt8]?, _ entries: [IndexEntry], _ visit: IndexScan.Visit
    ) throws -> Bool {
        var found: [(position: QueryPosition, isMatch: Bool, row: RecordRow?)] = []
        found.reserveCapacity(entries.count)
        var bytes = 0
        _ = try indexScan.read(entries, in: zone) { entry, row, values in
            var place = order.place(of: values, in: zone.name)
            let pinned = level.pinned + (key.map { [$0] } ?? [])
            place.keys.replaceSubrange(..<pinned.count, with: pinned)
            let isMatch = isMatch(row, values, level)
            // Rows over the bound are dropped and read again when they are visited.
            bytes += isMatch ? row.payload.count : 0
            found.append(
                (
                    QueryPosition(place: place), isMatch,
                    isMatch && bytes < Self.bytesHeld ? row : nil
                ))
            return true
        }
        found.sort { order.isBefore($0.position, $1.position) }
        for one in found where try !visitAfterStart(one.position, one.isMatch, one.row, visit) {
            return false
        }
        return true
    }

    /// Bytes of rows that are kept while records are sorted.
    private static let bytesHeld = 8_000_000

    private func visitAfterStart(
        _ position: QueryPosition, _ isMatch: Bool, _ row: RecordRow?, _ visit: IndexScan.Visit
    ) throws -> Bool {
        if let start, !order.isBefore(start, position) { return true }
        guard isMatch, row == nil else { return try visit(position, row) }
        let name = position.place.recordName
        return try visit(position, indexScan.reader.records(named: [name], in: zone.key)[name])
    }

    /// Whether a record matches and is equal in the keys before the level.
    private func isMatch(
        _ row: RecordRow, _ values: RecordValues, _ level: Level
    ) -> Bool {
        let isPinned = zip(level.pinned, order.keys).allSatisfy { pinned, key in
            key.bytes(of: values[key.field]) == pinned
        }
        return isPinned && indexScan.isMatch(row, values)
    }

    // MARK: Distances

    /// Visits the records in rings around a place, then those without a place.
    private func rings(
        _ level: Level, around centre: Location, _ visit: IndexScan.Visit
    ) throws -> Bool {
        let source = try source(of: level.number)
        let resumed = level.resumes ? start?.place.keys[level.number] : nil
        let farthest = indexScan.farthest(from: centre, order.keys[level.number].field)
        if resumed != RecordOrder.Key.withoutPlace {
            let nearest = NearestEntries(
                reader: indexScan.reader, index: source.index, zone: zone.key, centre: centre,
                limit: indexScan.search.limits.recordsScannedPerQuery)
            var inner = resumed.flatMap(IndexKey.double(in:))?.nextDown ?? -1
            // As many as a page has at first, then more, as few of them may match the filters.
            var wanted = max(min(indexScan.search.limit, maximumGroup / 4), 8)
            while inner < farthest {
                let ring = try nearest.ring(beyond: inner, wanted: wanted, upTo: farthest)
                indexScan.count(entriesRead: ring.entriesRead)
                if try !visitRing(level, ring, visit) { return false }
                inner = ring.outer
                wanted = min(wanted * 2, maximumGroup)
            }
        }
        guard farthest >= Location.farthest else { return true }
        return try group(
            level, entriesKey: IndexKey.missing, positionKey: RecordOrder.Key.withoutPlace, visit)
    }

    private func visitRing(
        _ level: Level, _ ring: NearestEntries.Ring, _ visit: IndexScan.Visit
    ) throws -> Bool {
        let (inner, outer) = (IndexKey.bytes(of: ring.inner), IndexKey.bytes(of: ring.outer))
        return try visitSorted(level, key: nil, ring.entries) { position, match in
            let distance = position.place.keys[level.number]
            // It belongs to another ring and does not say how far this one has come.
            guard inner.lexicographicallyPrecedes(distance),
                !outer.lexicographicallyPrecedes(distance)
            else { return true }
            return try visit(position, match)
        }
    }

    private func group(
        _ level: Level, entriesKey: [UInt8], positionKey: [UInt8], _ visit: IndexScan.Visit
    ) throws -> Bool {
        let source = try source(of: level.number)
        if isLast(level) {
            var bounds = KeyRange.only(entriesKey).bounds
            if let start, level.resumes, start.place.keys[level.number] == positionKey,
                zone.name == start.place.zoneName
            {
                bounds.0.name = start.place.recordName
            }
            return try stream(source, bounds, isAscending: true) { entries in
                try visitSorted(level, key: positionKey, entries, visit)
            }
        }
        let entries = try entries(
            of: source, between: KeyRange.only(entriesKey).bounds, isAscending: true,
            limit: maximumGroup + 1)
        if entries.count <= maximumGroup {
            return try visitSorted(level, key: positionKey, entries, visit)
        }
        let resumes = level.resumes && start?.place.keys[level.number] == positionKey
        return try scan(
            Level(number: level.number + 1, pinned: level.pinned + [positionKey], resumes: resumes),
            visit)
    }
}

extension IndexScan {
    /// The sources that are read one after the other in each zone; nil is the index of the first sort key.
    func sources(of compound: CompoundIndex?) throws -> [OrderedIndexScan.Source?] {
        guard let compound else { return [nil] }
        guard let index = index(compound.definition) else { throw ServiceError.indexIsBuilding }
        return compound.groups.map { OrderedIndexScan.Source(index: index, prefix: $0) }
    }
}

extension ArraySlice<IndexEntry> {
    /// The entries of each key.
    fileprivate var chunkedByKey: [ArraySlice<IndexEntry>] {
        var chunks: [ArraySlice<IndexEntry>] = []
        var rest = self
        while let first = rest.first {
            let chunk = rest.prefix { $0.key == first.key }
            chunks.append(chunk)
            rest = rest.dropFirst(chunk.count)
        }
        return chunks
    }
}
