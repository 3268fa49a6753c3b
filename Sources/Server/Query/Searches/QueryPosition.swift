import StratusMatching
import StratusRecords

/// Where a page of a query ended.
package struct QueryPosition: Hashable, Sendable {
    /// The last record's place in the query's order. Without sort keys, its one key is that of the index
    /// entry.
    package var place: RecordOrder.Place
    /// The number of the access path that was followed, and of its segment; only without sort keys.
    package var accessPath = 0
    package var segment = 0

    package init(place: RecordOrder.Place, accessPath: Int = 0, segment: Int = 0) {
        self.place = place
        self.accessPath = accessPath
        self.segment = segment
    }
}

extension RecordOrder {
    package func isBefore(_ one: QueryPosition, _ other: QueryPosition) -> Bool {
        isBefore(one.place, other.place)
    }

    /// The position before all records.
    var beginning: QueryPosition {
        let keys = keys.map { key in
            if key.isAscending { return IndexKey.missing }
            // After all names, which are printable ASCII.
            return key.field == .system(.recordName)
                ? IndexKey.bytes(ofName: "\u{7F}") : IndexKey.last
        }
        return QueryPosition(place: Place(keys: keys, zoneName: "", recordName: ""))
    }
}

extension ServiceError {
    package static let foreignMarker = invalid(
        "The continuation marker belongs to another query; start from the beginning.")
    package static let indexIsBuilding = ServiceError(
        .tryAgainLater, "An index of the record type is being built; try again.",
        retryAfterSeconds: 2)
}
