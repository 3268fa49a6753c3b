import StratusRecords
import StratusStorage
import StratusWire

/// A zone's records in the order of a query, along the index of its first sort key.
///
/// Records that are equal in a key are put in order by the next ones in memory. Where there are too many
/// of those, the index of the next key is followed in their stead, and what is not equal in the keys
/// before is passed over.
struct OrderedWalk {
    let scan: IndexScan
    let zone: ZoneRow
    let start: QueryPosition?
    let zoneCount: Int

    private var order: RecordOrder { scan.search.order }

    /// How many records are put in order in memory.
    private var maximumGroup: Int {
        let limits = scan.search.limits
        return max(min(limits.recordsSortedTogether, limits.recordsScannedPerQuery / zoneCount), 16)
    }

    /// Visits the records after the start until the visitor returns false. Those that do not match are
    /// visited too, so that it is known how far the walk came.
    func run(_ visit: IndexScan.Visit) throws {
        _ = try walk(Level(number: 0, pinned: [], resumes: start != nil), visit)
    }

    /// One sort key, under way for records that are equal in the keys before.
    private struct Level {
        var number: Int
        var pinned: [[UInt8]]
        /// Whether the start lies among these records.
        var resumes: Bool
    }

    private func definition(of number: Int) throws -> IndexRow.Definition {
        let key = order.keys[number]
        return .value(key.field, key.type, of: scan.search.recordType)
    }

    private func index(of number: Int) throws -> IndexRow.Key {
        guard let index = scan.index(try definition(of: number)) else {
            throw ServiceError.indexIsBuilding
        }
        return index
    }

    private func isLast(_ level: Level) -> Bool { level.number == order.keys.count - 1 }

    /// - Returns: false when the visitor stopped.
    private func walk(_ level: Level, _ visit: IndexScan.Visit) throws -> Bool {
        let key = order.keys[level.number]
        if let centre = key.centre { return try rings(level, around: centre, visit) }
        if key.field == .system(.recordName) { return try names(level, visit) }
        let resumed = level.resumes ? start?.keys[level.number] : nil
        if let resumed, try !group(level, resumed, resumes: true, visit) { return false }
        let ranges = scan.ranges(of: try definition(of: level.number))
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
        let index = try index(of: level.number)
        var range = range
        while !range.isEmpty {
            let entries = try scan.reader.entries(
                of: index, in: zone.key, between: range.bounds, isAscending: isAscending,
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

    /// Visits entries of which no key has more: in the order of the keys, then of the rest.
    private func visitWhole(
        _ level: Level, _ entries: [IndexEntry], _ visit: IndexScan.Visit
    ) throws -> Bool {
        if isLast(level) {
            // Backwards, the names of one key are to come forwards all the same.
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
    /// - Parameter resumes: Whether the start lies among them.
    private func group(
        _ level: Level, _ key: [UInt8], resumes: Bool, _ visit: IndexScan.Visit
    ) throws -> Bool {
        let index = try index(of: level.number)
        if isLast(level) {
            var bounds = KeyRange.only(key).bounds
            if resumes, let start {
                if StoredNameOrder.isBefore(zone.name, start.zoneName) { return true }
                if zone.name == start.zoneName { bounds.0.name = start.recordName }
            }
            return try stream(index, bounds, isAscending: true) { entries in
                try visitInOrder(level, entries, visit)
            }
        }
        let entries = try scan.reader.entries(
            of: index, in: zone.key, between: KeyRange.only(key).bounds, isAscending: true,
            limit: maximumGroup + 1)
        if entries.count <= maximumGroup {
            return try visitSorted(level, key: key, entries, visit)
        }
        return try walk(
            Level(number: level.number + 1, pinned: level.pinned + [key], resumes: resumes),
            visit)
    }

    /// Visits all records by name: the key by which no two of a zone are equal.
    private func names(_ level: Level, _ visit: IndexScan.Visit) throws -> Bool {
        let isAscending = order.keys[level.number].isAscending
        let index = try index(of: level.number)
        var bounds = KeyRange.all.bounds
        if level.resumes, let start {
            let name = IndexKey.name(in: start.keys[level.number])
            if zone.name != start.zoneName {
                // This zone's record of that name may come after the start's.
                let entries = [IndexEntry(key: IndexKey.missing, name: name)]
                if try !visitSorted(level, key: nil, entries, visit) { return false }
            }
            if isAscending {
                bounds.0.name = name
            } else {
                bounds.1 = IndexEntry(key: IndexKey.missing, name: name)
            }
        }
        return try stream(index, bounds, isAscending: isAscending) { entries in
            try visitSorted(level, key: nil, entries, visit)
        }
    }

    private func stream(
        _ index: IndexRow.Key, _ bounds: (IndexEntry, IndexEntry), isAscending: Bool,
        _ body: ([IndexEntry]) throws -> Bool
    ) throws -> Bool {
        var bounds = bounds
        while true {
            let entries = try scan.reader.entries(
                of: index, in: zone.key, between: bounds, isAscending: isAscending,
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
        try !scan.read(entries, in: zone) { entry, row, values in
            let position = QueryPosition(
                keys: level.pinned + [entry.key], zoneName: zone.name, recordName: row.name)
            let isMatch = isMatch(row, values, level)
            return try pass(position, isMatch, isMatch ? row : nil, visit)
        }
    }

    /// Puts records in the query's order and visits them.
    ///
    /// - Parameter key: what they are equal in at this level; nil when they differ there.
    private func visitSorted(
        _ level: Level, key: [UInt8]?, _ entries: [IndexEntry], _ visit: IndexScan.Visit
    ) throws -> Bool {
        var found: [(position: QueryPosition, isMatch: Bool, row: RecordRow?)] = []
        found.reserveCapacity(entries.count)
        var bytes = 0
        _ = try scan.read(entries, in: zone) { entry, row, values in
            var position = order.position(of: row, in: zone.name, values)
            let pinned = level.pinned + (key.map { [$0] } ?? [])
            position.keys.replaceSubrange(..<pinned.count, with: pinned)
            let isMatch = isMatch(row, values, level)
            // Large records are read again in their turn.
            bytes += isMatch ? row.payload.count : 0
            found.append((position, isMatch, isMatch && bytes < Self.bytesHeld ? row : nil))
            return true
        }
        found.sort { order.isBefore($0.position, $1.position) }
        for one in found where try !pass(one.position, one.isMatch, one.row, visit) {
            return false
        }
        return true
    }

    /// Bytes of records that are held while others are put in order with them.
    private static let bytesHeld = 8_000_000

    private func pass(
        _ position: QueryPosition, _ isMatch: Bool, _ row: RecordRow?, _ visit: IndexScan.Visit
    ) throws -> Bool {
        if let start, !order.isBefore(start, position) { return true }
        guard isMatch, row == nil else { return try visit(position, row) }
        let name = position.recordName
        return try visit(position, scan.reader.records(named: [name], in: zone.key)[name])
    }

    /// Whether a record matches and is equal in the keys before the level.
    private func isMatch(
        _ row: RecordRow, _ values: RecordValues, _ level: Level
    ) -> Bool {
        let isPinned = zip(level.pinned, order.keys).allSatisfy { pinned, key in
            key.bytes(of: values[key.field]) == pinned
        }
        return isPinned && scan.isMatch(row, values)
    }

    // MARK: Distances

    /// Visits records ring by ring around a place, then those without a place.
    private func rings(
        _ level: Level, around centre: Location, _ visit: IndexScan.Visit
    ) throws -> Bool {
        let index = try index(of: level.number)
        let resumed = level.resumes ? start?.keys[level.number] : nil
        let farthest = scan.farthest(from: centre, order.keys[level.number].field)
        if resumed != RecordOrder.Key.nowhere {
            let nearest = NearestEntries(
                reader: scan.reader, index: index, zone: zone.key, centre: centre,
                limit: scan.search.limits.recordsScannedPerQuery)
            var inner = resumed.flatMap(IndexKey.double(in:))?.nextDown ?? -1
            // As many as a page has, then more: the filters may leave few of them.
            var wanted = max(min(scan.search.limit, maximumGroup / 4), 8)
            while inner < farthest {
                let ring = try nearest.ring(beyond: inner, wanted: wanted, upTo: farthest)
                if try !visitRing(level, ring, visit) { return false }
                inner = ring.outer
                wanted = min(wanted * 2, maximumGroup)
            }
        }
        guard farthest >= Location.farthest else { return true }
        return try group(
            level, entriesKey: IndexKey.missing, positionKey: RecordOrder.Key.nowhere, visit)
    }

    private func visitRing(
        _ level: Level, _ ring: NearestEntries.Ring, _ visit: IndexScan.Visit
    ) throws -> Bool {
        let (inner, outer) = (IndexKey.bytes(of: ring.inner), IndexKey.bytes(of: ring.outer))
        return try visitSorted(level, key: nil, ring.entries) { position, match in
            let distance = position.keys[level.number]
            // Another ring's, which cannot say how far this one came.
            guard inner.lexicographicallyPrecedes(distance),
                !outer.lexicographicallyPrecedes(distance)
            else { return true }
            return try visit(position, match)
        }
    }

    private func group(
        _ level: Level, entriesKey: [UInt8], positionKey: [UInt8], _ visit: IndexScan.Visit
    ) throws -> Bool {
        let index = try index(of: level.number)
        if isLast(level) {
            var bounds = KeyRange.only(entriesKey).bounds
            if let start, level.resumes, start.keys[level.number] == positionKey,
                zone.name == start.zoneName
            {
                bounds.0.name = start.recordName
            }
            return try stream(index, bounds, isAscending: true) { entries in
                try visitSorted(level, key: positionKey, entries, visit)
            }
        }
        let entries = try scan.reader.entries(
            of: index, in: zone.key, between: KeyRange.only(entriesKey).bounds, isAscending: true,
            limit: maximumGroup + 1)
        if entries.count <= maximumGroup {
            return try visitSorted(level, key: positionKey, entries, visit)
        }
        let resumes = level.resumes && start?.keys[level.number] == positionKey
        return try walk(
            Level(number: level.number + 1, pinned: level.pinned + [positionKey], resumes: resumes),
            visit)
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
