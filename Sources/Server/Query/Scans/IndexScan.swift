import Algorithms
import StratusMatching
import StratusRecords
import StratusStorage
import StratusWire

/// Reads indexes and their records for one query, and counts what it reads.
///
/// It is a class because the parts of a search share the count. It lives inside one closure of the store.
final class IndexScan {
    /// Called for each record that was read, with the row if the record matches. Returns whether to continue.
    typealias Visit = (QueryPosition, _ match: RecordRow?) throws -> Bool

    /// Entries read in one step.
    static let entriesPerStep = 64
    /// The most access paths whose entries are counted.
    private static let accessPathsCompared = 16
    /// Records read in one step.
    private static let recordsPerStep = 16

    let reader: any StoreReader
    let search: RecordSearch
    /// The indexes that can be read.
    private let indexes: [IndexRow.Definition: IndexRow.Key]
    private let building: Set<IndexRow.Definition>
    /// The names of the records' own fields that are read.
    private var fieldNames: [String]
    private(set) var scanned = 0
    /// Index entries of locations that were read to find the nearest.
    private(set) var entriesRead = 0
    private var scannedBytes = 0
    private let weight: Int
    /// The size of the filters in bytes, as each record is compared with them, and what a record costs in any case.
    private let comparedBytes: Int
    /// The number of ranges whose entries were counted.
    private var probes = 0
    private var shareStart = (records: 0, bytes: 0)
    private var collectStart = (records: 0, bytes: 0)

    /// Which records the caller may see, by zone.
    private let canRead: [ZoneRow.Key: (RecordRow) -> Bool]
    private var zoneCount: Int { max(canRead.count, 1) }
    /// Parts of each zone that are read one after the other: the values of a compound index.
    private var partsPerZone = 1

    init(
        reader: any StoreReader, search: RecordSearch, zones: [RecordSearch.Zone]
    ) throws {
        canRead = Dictionary(uniqueKeysWithValues: zones.map { ($0.row.key, $0.canRead) })
        self.reader = reader
        self.search = search
        // In an ordered scan of one index, the entry has the sort key; it need not be read from the record.
        let keys = search.order.keys
        let followsKeys = keys.count == 1 && keys[0].centre == nil
        weight = search.matcher.weight
        comparedBytes = 64 + search.matcher.conditions.reduce(0) { $0 + $1.filter.valueBytes }
        fieldNames = search.matcher.fieldNames + (followsKeys ? [] : search.order.fieldNames)
        var indexes: [IndexRow.Definition: IndexRow.Key] = [:]
        var building: Set<IndexRow.Definition> = []
        for index in try reader.indexes(ofType: search.recordType) {
            switch index.phase {
            case .readable: indexes[index.definition] = index.key
            case .building: building.insert(index.definition)
            case .dropping: continue
            }
        }
        self.indexes = indexes
        self.building = building
        guard index(.name(of: search.recordType)) != nil else {
            throw ServiceError.indexIsBuilding
        }
    }

    /// The index, if it can be read.
    func index(_ definition: IndexRow.Definition) -> IndexRow.Key? { indexes[definition] }

    /// From here on, reads the fields by which records are sorted, as they are not read in that order.
    func readOrder() {
        fieldNames = search.matcher.fieldNames + search.order.fieldNames
    }

    // MARK: How much was read

    var isUsedUp: Bool {
        scanned >= search.limits.recordsScannedPerQuery
            || scannedBytes >= search.limits.bytesScannedPerQuery
    }

    /// From here on, counts what is collected.
    func beginCollecting() { collectStart = (scanned, scannedBytes) }

    /// Twice the limit: the records were counted before, only their size was unknown.
    var hasCollectedTooMuch: Bool {
        scanned - collectStart.records >= 2 * search.limits.recordsScannedPerQuery
            || scannedBytes - collectStart.bytes >= 2 * search.limits.bytesScannedPerQuery
    }

    /// Starts the share of the next part in what a query may read, so that each part gets some of it.
    ///
    /// - Parameter partsPerZone: How many parts a zone has.
    func beginShare(partsPerZone: Int) {
        shareStart = (scanned, scannedBytes)
        self.partsPerZone = partsPerZone
    }

    var isShareUsedUp: Bool {
        let parts = zoneCount * partsPerZone
        let records = max(search.limits.recordsScannedPerQuery / parts, 16)
        return scanned - shareStart.records >= records
            || scannedBytes - shareStart.bytes >= search.limits.bytesScannedPerQuery / parts
    }

    // MARK: Query plan

    /// The access path with a number; the one after the last finds all records of the type.
    func accessPath(_ number: Int) throws -> AccessPath {
        if number == search.accessPaths.count { return .all(of: search.recordType) }
        guard search.accessPaths.indices.contains(number) else { throw ServiceError.foreignMarker }
        return search.accessPaths[number]
    }

    /// The access paths whose indexes can be read, and that have few enough segments.
    private var usablePaths: [Int] {
        let most = max(search.limits.recordsScannedPerQuery / 2 / zoneCount, 64)
        return Array(
            search.accessPaths.indices.lazy.filter { number in
                let accessPath = self.search.accessPaths[number]
                return accessPath.segments.count <= most && self.canFollow(accessPath)
            }.prefix(Self.accessPathsCompared))
    }

    /// The access path with the fewest entries, and their number if it is below a limit.
    ///
    /// All are counted up to a common bound, which grows until one of them has fewer entries. So counting costs about
    /// as much as the smallest.
    func mostSelectivePath(
        in zones: [ZoneRow], below limit: Int
    ) throws -> (number: Int, count: Int?) {
        let usable = usablePaths
        let candidates = usable.isEmpty ? [search.accessPaths.count] : usable
        if candidates.count == 1, search.order.keys.isEmpty {
            return (candidates[0], nil)
        }
        var bound = 16
        while true {
            bound = min(bound, limit)
            let counts = try candidates.map {
                try count(try accessPath($0), in: zones, limit: bound)
            }
            if let least = zip(candidates, counts).min(by: { $0.1 < $1.1 }), least.1 < bound {
                return least
            }
            if bound >= limit || hasProbedEnough { return (candidates[0], nil) }
            bound *= 8
        }
    }

    /// Whether all records can be read in the query's order.
    func canScanInOrder() throws -> Bool {
        search.order.keys.indices.allSatisfy { index(search.sortIndex(of: $0)) != nil }
    }

    /// Whether the filters only permit a range of the first sort key's index, or there are none.
    var isServedBySortIndex: Bool {
        let definition = search.sortIndex(of: 0)
        return search.accessPaths.allSatisfy { $0.ranges(of: definition) != nil }
    }

    /// A compound index that can be read.
    var compound: CompoundIndex? { search.compounds.first { index($0.definition) != nil } }

    /// Whether an index serves one of the filters.
    var hasUsablePaths: Bool { !usablePaths.isEmpty }

    func canFollow(_ accessPath: AccessPath) -> Bool {
        accessPath.segments.allSatisfy { index($0.definition) != nil }
    }

    /// A page without records, after which the next page continues, for a query whose indexes are being built.
    func waitingPage(
        for definitions: [IndexRow.Definition], from position: QueryPosition
    ) -> RecordSearch.Page {
        let isBuilt = definitions.allSatisfy { indexes[$0] != nil || building.contains($0) }
        return RecordSearch.Page(
            found: [], next: position, scanned: scanned, isWaiting: true, lacksIndex: !isBuilt)
    }

    /// The largest distance from a location that a matching record can have, in metres.
    func farthest(from centre: Location, _ field: QueryDictionary.FieldName) -> Double {
        search.matcher.conditions.reduce(Location.farthest) { farthest, condition in
            guard condition.comparator == .near, condition.filter.field == field,
                case .location(let other) = condition.filter.value,
                let radius = condition.filter.distanceMetres
            else { return farthest }
            return min(farthest, centre.distance(to: other) + radius + 1)
        }
    }

    /// The ranges of an index that contain all matching records.
    func ranges(of definition: IndexRow.Definition) -> [KeyRange] {
        search.accessPaths.lazy.compactMap { $0.ranges(of: definition) }.first ?? [.all]
    }

    private var hasProbedEnough: Bool { probes >= search.limits.recordsScannedPerQuery }

    private func count(_ accessPath: AccessPath, in zones: [ZoneRow], limit: Int) throws -> Int {
        var count = 0
        for zone in zones {
            for segment in accessPath.segments where count < limit {
                guard let index = index(segment.definition), !hasProbedEnough else {
                    // A range that was not counted may have many.
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

    /// Visits the records of an access path in the order of its entries, each once.
    ///
    /// - Returns: Whether the visitor stopped.
    func follow(
        _ accessPath: AccessPath, number: Int, in zone: ZoneRow, after start: QueryPosition?,
        _ visit: (QueryPosition, _ match: RecordRow?, RecordValues) throws -> Bool
    ) throws -> Bool {
        for (segmentNumber, segment) in accessPath.segments.enumerated() {
            if let start, segmentNumber < start.segment { continue }
            guard let index = index(segment.definition) else { throw ServiceError.indexIsBuilding }
            var bounds = segment.bounds
            if let start, start.segment == segmentNumber {
                bounds.0 = IndexEntry(key: start.place.keys[0], name: start.place.recordName)
            }
            while true {
                let entries = try reader.entries(
                    of: index, in: zone.key, between: bounds, isAscending: true,
                    limit: Self.entriesPerStep)
                let stopped = try read(entries, in: zone) { entry, row, values in
                    let position = QueryPosition(
                        place: .init(
                            keys: [entry.key], zoneName: zone.name, recordName: entry.name),
                        accessPath: number, segment: segmentNumber)
                    let isMatch =
                        isMatch(row, values)
                        && accessPath.isFirst(entry.key, segment: segmentNumber, of: values)
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
    /// - Returns: Whether it did.
    func read(
        _ entries: [IndexEntry], in zone: ZoneRow,
        _ body: (IndexEntry, RecordRow, RecordValues) throws -> Bool
    ) throws -> Bool {
        for step in entries.chunks(ofCount: Self.recordsPerStep) {
            let rows = try reader.records(named: step.map(\.name), in: zone.key)
            for entry in step {
                guard let row = rows[entry.name] else { continue }
                scanned += 1
                scannedBytes += (row.payload.count + comparedBytes) * weight
                let values = try RecordValues(row, readingFields: fieldNames)
                if try !body(entry, row, values) { return true }
            }
        }
        return false
    }

    func count(entriesRead count: Int) { entriesRead += count }

    func isMatch(_ row: RecordRow, _ values: RecordValues) -> Bool {
        !row.isDeleted && canRead[row.zone]?(row) == true && search.matcher.matches(values)
    }
}

extension RecordMatcher {
    /// How much more expensive a record's bytes are to compare than to read: long lists of values in
    /// filters count against the bytes that a query may scan.
    fileprivate var weight: Int {
        let values = conditions.reduce(0) { sum, condition in
            sum + max(condition.filter.value.members?.count ?? 1, condition.words.count)
        }
        return 1 + values / 16
    }
}
