import StratusRecords
import StratusWire

/// The order of a query's records: its sort keys, then the zone's and the record's name, so that no two
/// records are equal and a page can begin anywhere.
///
/// Values are ordered by the bytes of their keys (``IndexKey``), which have the first 512 bytes of a text. In ascending
/// order, records without a value come first; in an order by distance, records without a location come last.
package struct RecordOrder: Sendable {
    /// One sort key.
    package struct Key: Sendable {
        package var field: QueryDictionary.FieldName
        package var type: FieldType
        package var isAscending: Bool
        /// Set when the records are sorted by their distance from this location.
        package var centre: Location?

        package init(
            field: QueryDictionary.FieldName, type: FieldType, isAscending: Bool,
            centre: Location? = nil
        ) {
            self.field = field
            self.type = type
            self.isAscending = isAscending
            self.centre = centre
        }
    }

    package let keys: [Key]
    /// The names of the record's own fields among the sort keys.
    package let fieldNames: [String]

    /// The position of a record in the order.
    package struct Place: Hashable, Sendable {
        /// One for each sort key.
        package var keys: [[UInt8]]
        package var zoneName: String
        package var recordName: String

        package init(keys: [[UInt8]], zoneName: String, recordName: String) {
            self.keys = keys
            self.zoneName = zoneName
            self.recordName = recordName
        }
    }

    package init(keys: [Key]) {
        self.keys = keys
        fieldNames = keys.compactMap { if case .user(let name) = $0.field { name } else { nil } }
    }

    package func place(of values: RecordValues, in zoneName: String) -> Place {
        Place(
            keys: keys.map { $0.bytes(of: values[$0.field]) }, zoneName: zoneName,
            recordName: values.system.recordName)
    }

    package func isBefore(_ one: Place, _ other: Place) -> Bool {
        for (index, key) in keys.enumerated() {
            let (left, right) = (one.keys[index], other.keys[index])
            if left == right { continue }
            return left.lexicographicallyPrecedes(right) == key.isAscending
        }
        if one.zoneName != other.zoneName {
            return NameOrder.isBefore(one.zoneName, other.zoneName)
        }
        return NameOrder.isBefore(one.recordName, other.recordName)
    }
}

extension RecordOrder.Key {
    /// The key of a record without a location, after all distances.
    package static let withoutPlace = IndexKey.last

    /// The key by which a record with this value is ordered.
    package func bytes(of value: FieldValue?) -> [UInt8] {
        guard let centre else { return value.flatMap(IndexKey.bytes(of:)) ?? IndexKey.missing }
        guard case .location(let place) = value, place.isOnEarth else { return Self.withoutPlace }
        return IndexKey.bytes(of: centre.distance(to: place))
    }
}

/// The order of names, in queries and in the store: by their bytes.
package enum NameOrder {
    package static func isBefore(_ one: String, _ other: String) -> Bool {
        one.utf8.lexicographicallyPrecedes(other.utf8)
    }
}
