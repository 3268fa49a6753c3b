import StratusRecords
import StratusStorage
import StratusWire

/// The order of a query's records: its sort keys, then the zone's and the record's name, so that no two
/// records are equal and a page can begin anywhere.
struct RecordOrder: Sendable {
    /// Where a record stands in the order.
    struct Position: Hashable, Sendable {
        /// One per sort key; nil where the record has no value.
        var keys: [FieldValue?]
        var zoneName: String
        var recordName: String
    }

    private let sorts: [QueryDictionary.Sort]
    private let needsFields: Bool

    /// - Throws: ``ServiceError`` that names the field which cannot be sorted by.
    init(_ query: QueryDictionary, schema: ContainerSchema) throws {
        for sort in query.sortBy {
            if sort.relativeLocation != nil {
                throw ServiceError.invalid("Sorting by distance is not served yet.")
            }
            let type = try RecordMatcher.fieldType(
                sort.field, of: query.recordType, schema: schema, isLenient: false)
            guard type?.isOrdered ?? true else {
                throw ServiceError.invalid("The values of a sort field must have an order.")
            }
        }
        sorts = query.sortBy
        needsFields = query.sortBy.contains { if case .user = $0.field { true } else { false } }
    }

    /// Whether records come by name, as the store has them.
    var isByName: Bool { sorts.isEmpty }

    func position(of row: RecordRow, in zoneName: String) throws(WireError) -> Position {
        guard !sorts.isEmpty else {
            return Position(keys: [], zoneName: zoneName, recordName: row.name)
        }
        let values = try RecordValues(row, readingFields: needsFields)
        return Position(
            keys: sorts.map { values[$0.field] }, zoneName: zoneName, recordName: row.name)
    }

    /// Records without a value come first in ascending order.
    func isBefore(_ one: Position, _ other: Position) -> Bool {
        for (index, sort) in sorts.enumerated() {
            let (left, right) = (one.keys[index], other.keys[index])
            switch (left, right) {
            case (nil, nil): continue
            case (nil, _): return sort.isAscending
            case (_, nil): return !sort.isAscending
            case (let left?, let right?):
                if left.isBefore(right) == true { return sort.isAscending }
                if right.isBefore(left) == true { return !sort.isAscending }
            }
        }
        if one.zoneName != other.zoneName {
            return StoredNameOrder.isBefore(one.zoneName, other.zoneName)
        }
        return StoredNameOrder.isBefore(one.recordName, other.recordName)
    }
}

/// The order in which the store scans names: by their bytes.
enum StoredNameOrder {
    static func isBefore(_ one: String, _ other: String) -> Bool {
        one.utf8.lexicographicallyPrecedes(other.utf8)
    }
}
