import StratusRecords
import StratusStorage
import StratusWire

/// Reads indexes and their records for one query, and counts what it reads.
///
/// A class, as the parts of a search share the count; it lives inside one closure of the store.
final class IndexScan {
    /// What is done with a record that was looked at: it comes along if it matches. Says whether to go on.
    typealias Visit = (QueryPosition, _ match: RecordRow?) throws -> Bool

    /// Entries read at a time.
    static let entriesPerStep = 64
    /// Drives of which the entries are counted.
    private static let drivesCompared = 16
    /// Records held at a time.
    private static let recordsPerStep = 16

    let reader: any StoreReader
    let search: RecordSearch
    private let indexes: [IndexRow.Definition: IndexRow.Key]
    /// Whether records are read beyond their system fields.
    private var readsFields: Bool
    private(set) var scanned = 0
    private var scannedBytes = 0
    private let weight: Int
    /// Ranges of which the entries were counted.
    private var probes = 0
    private var shareStart = (records: 0, bytes: 0)

    /// What the caller may see of the zones that are searched.
    private let rights: [ZoneRow.Key: ZoneRights]
    private var zoneCount: Int { max(rights.count, 1) }

    init(
        reader: any StoreReader, search: RecordSearch, rights: [ZoneRow.Key: ZoneRights]
    ) throws {
        self.rights = rights
        self.reader = reader
        self.search = search
        // Along one index, an entry's key says what its record is ordered by.
        let keys = search.order.keys
        let followsKeys = keys.count == 1 && keys[0].centre == nil
        weight = search.matcher.weight
        readsFields = search.matcher.readsFields || search.order.readsFields && !followsKeys
        let readable = try reader.indexes(ofType: search.recordType)
            .filter { $0.phase == .readable }
        indexes = Dictionary(
            readable.map { ($0.definition, $0.key) }, uniquingKeysWith: { first, _ in first })
        guard index(.name(of: search.recordType)) != nil else {
            throw ServiceError.indexIsBuilding
        }
    }

    /// The index, if it can be read.
    func index(_ definition: IndexRow.Definition) -> IndexRow.Key? { indexes[definition] }

    /// Reads what the order needs, for records that do not come in it.
    func readOrder() {
        if search.order.readsFields { readsFields = true }
    }

    // MARK: How much was read

    var isUsedUp: Bool {
        scanned >= search.limits.recordsScannedPerQuery
            || scannedBytes >= search.limits.bytesScannedPerQuery
    }

    var isUsedUpTwice: Bool {
        scanned >= 2 * search.limits.recordsScannedPerQuery
            || scannedBytes >= 2 * search.limits.bytesScannedPerQuery
    }

    /// Begins one zone's share of what may be read; each zone gets something.
    func beginShare() { shareStart = (scanned, scannedBytes) }

    var isShareUsedUp: Bool {
        let records = max(search.limits.recordsScannedPerQuery / zoneCount, 16)
        return scanned - shareStart.records >= records
            || scannedBytes - shareStart.bytes >= search.limits.bytesScannedPerQuery / zoneCount
    }

    // MARK: Which way

    /// How the page of a sorted query is found.
    enum Way {
        /// Along the index of the first sort key.
        case walk
        /// By sorting what a drive finds. The other way is open too, if that turns out too large.
        case collect(drive: Int, canWalk: Bool)
    }

    /// The drive of a number; the one after the last is all records of the type.
    func drive(_ number: Int) throws -> IndexDrive {
        if number == search.drives.count { return .all(of: search.recordType) }
        guard search.drives.indices.contains(number) else { throw ServiceError.foreignMarker }
        return search.drives[number]
    }

    /// The drive with the fewest entries, and their number when it is below the limit of a query.
    ///
    /// All are counted in step, up to a bound that grows until one is found to be smaller: the cost is
    /// that of the smallest.
    func mostSelectiveDrive(in zones: [ZoneRow]) throws -> (number: Int, count: Int?) {
        let most = max(search.limits.recordsScannedPerQuery / 2 / zoneCount, 64)
        let usable = search.drives.indices.lazy.filter { number in
            let segments = self.search.drives[number].segments
            return segments.count <= most
                && segments.allSatisfy { self.index($0.definition) != nil }
        }.prefix(Self.drivesCompared)
        let candidates = usable.isEmpty ? [search.drives.count] : Array(usable)
        if candidates.count == 1, search.order.keys.isEmpty {
            return (candidates[0], nil)
        }
        var bound = 16
        while true {
            bound = min(bound, search.limits.recordsScannedPerQuery)
            let counts = try candidates.map { try count(try drive($0), in: zones, limit: bound) }
            if let least = zip(candidates, counts).min(by: { $0.1 < $1.1 }), least.1 < bound {
                return least
            }
            if bound >= search.limits.recordsScannedPerQuery || hasProbedEnough {
                return (candidates[0], nil)
            }
            bound *= 8
        }
    }

    func way(in zones: [ZoneRow], limit: Int) throws -> Way {
        let first = search.order.keys[0]
        let definition = IndexRow.Definition.value(
            first.field, first.type, of: search.recordType)
        let canWalk = index(definition) != nil
        // No filter, or filters on the sorted field alone: the way is no longer than the page.
        if canWalk, search.drives.allSatisfy({ $0.ranges(of: definition) != nil }) { return .walk }
        let (number, found) = try mostSelectiveDrive(in: zones)
        guard let count = found else {
            if canWalk { return .walk }
            throw ServiceError.indexIsBuilding
        }
        guard canWalk, count > limit else { return .collect(drive: number, canWalk: canWalk) }
        let walked = try self.count(
            IndexDrive(
                segments: ranges(of: definition).map { .init(definition: definition, range: $0) },
                canRepeat: false), in: zones, limit: search.limits.recordsScannedPerQuery)
        // On the way one of so many matches.
        let expected = min(walked, limit * walked / max(count, 1))
        let isKnown = walked < search.limits.recordsScannedPerQuery
        return isKnown && expected <= count ? .walk : .collect(drive: number, canWalk: true)
    }

    /// How far from a place matching records lie at the most.
    func farthest(from centre: Location, _ field: QueryDictionary.FieldName) -> Double {
        search.matcher.conditions.reduce(Location.farthest) { farthest, condition in
            guard condition.comparator == .near, condition.filter.field == field,
                case .location(let other) = condition.filter.value,
                let radius = condition.filter.distanceMetres
            else { return farthest }
            return min(farthest, centre.distance(to: other) + radius + 1)
        }
    }

    /// The keys of an index in which all matching records lie.
    func ranges(of definition: IndexRow.Definition) -> [KeyRange] {
        search.drives.lazy.compactMap { $0.ranges(of: definition) }.first ?? [.all]
    }

    private var hasProbedEnough: Bool { probes >= search.limits.recordsScannedPerQuery }

    private func count(_ drive: IndexDrive, in zones: [ZoneRow], limit: Int) throws -> Int {
        var count = 0
        for zone in zones {
            for segment in drive.segments where count < limit {
                guard let index = index(segment.definition), !hasProbedEnough else {
                    // What was not counted is taken for many.
                    return limit
                }
                probes += 1
                count += try reader.entryCount(
                    of: index, in: zone.key, between: segment.bounds, limit: limit - count)
            }
        }
        return count
    }

    // MARK: Reading

    /// Visits the records of a drive in the order of its entries, each once.
    ///
    /// - Returns: whether the visitor stopped.
    func follow(
        _ drive: IndexDrive, number: Int, in zone: ZoneRow, after start: QueryPosition?,
        _ visit: (QueryPosition, _ match: RecordRow?, RecordValues) throws -> Bool
    ) throws -> Bool {
        for (segmentNumber, segment) in drive.segments.enumerated() {
            if let start, segmentNumber < start.segment { continue }
            guard let index = index(segment.definition) else { throw ServiceError.indexIsBuilding }
            var bounds = segment.bounds
            if let start, start.segment == segmentNumber {
                bounds.0 = IndexEntry(key: start.keys[0], name: start.recordName)
            }
            while true {
                let entries = try reader.entries(
                    of: index, in: zone.key, between: bounds, isAscending: true,
                    limit: Self.entriesPerStep)
                let stopped = try read(entries, in: zone) { entry, row, values in
                    let position = QueryPosition(
                        keys: [entry.key], zoneName: zone.name, recordName: entry.name,
                        drive: number, segment: segmentNumber)
                    let isMatch =
                        isMatch(row, values)
                        && drive.isFirst(entry.key, segment: segmentNumber, of: values)
                    return try visit(position, isMatch ? row : nil, values)
                }
                if stopped { return true }
                guard entries.count == Self.entriesPerStep, let last = entries.last else { break }
                bounds.0 = last
            }
        }
        return false
    }

    /// Reads the records of entries, a few at a time, until `body` returns false.
    ///
    /// - Returns: whether it did.
    func read(
        _ entries: [IndexEntry], in zone: ZoneRow,
        _ body: (IndexEntry, RecordRow, RecordValues) throws -> Bool
    ) throws -> Bool {
        for start in stride(from: 0, to: entries.count, by: Self.recordsPerStep) {
            let step = entries[start..<min(start + Self.recordsPerStep, entries.count)]
            let rows = try reader.records(named: step.map(\.name), in: zone.key)
            for entry in step {
                guard let row = rows[entry.name] else { continue }
                scanned += 1
                scannedBytes += row.payload.count * weight
                let values = try RecordValues(row, readingFields: readsFields)
                if try !body(entry, row, values) { return true }
            }
        }
        return false
    }

    func isMatch(_ row: RecordRow, _ values: RecordValues) -> Bool {
        !row.isDeleted && search.matcher.matches(row, values)
            && rights[row.zone]?.canRead(row) == true
    }
}
