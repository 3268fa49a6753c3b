import StratusMatching
import StratusRecords
import StratusStorage

/// Finds a page of a query's records through the indexes of their type.
///
/// With sort keys, there are two ways: the index of the first key is scanned in order and the filters are checked on
/// each record (``OrderedIndexScan``), or the records that the most selective filter finds are collected and sorted.
/// ``SortedSearch`` uses the one that reads fewer records. Without sort keys, the index of the most selective filter is
/// scanned. The filters are always checked on the records themselves; indexes only say where to look.
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
        /// The number of index entries that were read in addition to those of the records, for an order by distance.
        package var entriesRead = 0
        /// The compound index that the page used, or that would have made it cheaper.
        package var compound: IndexRow.Definition?
        /// Whether nothing was read, because an index that the page needs is being built.
        package var isWaiting = false
        /// Whether one of those indexes is not even being built: it was dropped in favour of another since it was asked
        /// for.
        package var lacksIndex = false
    }

    let matcher: RecordMatcher
    let order: RecordOrder
    let accessPaths: [AccessPath]
    let compounds: [CompoundIndex]
    let limit: Int
    let limits: Limits

    package init(matcher: RecordMatcher, order: RecordOrder, limit: Int, limits: Limits) {
        self.matcher = matcher
        self.order = order
        self.limit = limit
        self.limits = limits
        accessPaths = matcher.accessPaths
        compounds = Self.compounds(matcher, order)
    }

    var recordType: String { matcher.recordType }

    /// The indexes that the query would use if they existed, except compound ones: a page asks for those when it was
    /// expensive without them (``Page/compound``).
    package var askedIndexes: Set<IndexRow.Definition> {
        var asked: Set<IndexRow.Definition> = []
        for accessPath in accessPaths {
            var last: IndexRow.Definition?
            for segment in accessPath.segments where segment.definition != last {
                asked.insert(segment.definition)
                last = segment.definition
            }
        }
        for number in order.keys.indices { asked.insert(sortIndex(of: number)) }
        return asked
    }

    /// The index of a sort key.
    func sortIndex(of number: Int) -> IndexRow.Definition {
        .value(order.keys[number].field, order.keys[number].type, of: recordType)
    }

    /// The indexes that a position depends on, which the schema decides with the query: those of the sort keys; without
    /// sort keys, those of each access path in the order of its segments.
    package var positionIndexes: [[IndexRow.Definition]] {
        guard order.keys.isEmpty else { return [order.keys.indices.map { sortIndex(of: $0) }] }
        return accessPaths.map { accessPath in
            var indexes: [IndexRow.Definition] = []
            for segment in accessPath.segments where indexes.last != segment.definition {
                indexes.append(segment.definition)
            }
            return indexes
        }
    }

    /// How many keys a position has.
    package var keysPerPosition: Int { max(order.keys.count, 1) }
}
