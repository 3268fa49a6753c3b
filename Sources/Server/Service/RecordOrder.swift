import StratusRecords
import StratusStorage
import StratusWire

/// The order of a query's records: its sort keys, then the zone's and the record's name, so that no two
/// records are equal and a page can begin anywhere.
///
/// Values are ordered by their keys in the index (``IndexKey``): of a text the first 512 bytes count.
/// Records without a value come first where the order ascends; without a place, last.
struct RecordOrder: Sendable {
    /// One sort key.
    struct Key: Sendable {
        var field: QueryDictionary.FieldName
        var type: FieldType
        var isAscending: Bool
        /// Set when the distance from here is sorted by.
        var centre: Location?
    }

    let keys: [Key]
    let readsFields: Bool

    /// - Throws: ``ServiceError`` that names the field which cannot be sorted by.
    init(_ query: QueryDictionary, schema: ContainerSchema) throws {
        let checking = FilterChecking(
            recordType: query.recordType, schema: schema, isLenient: false)
        keys = try query.sortBy.compactMap { try Self.key($0, checking) }
        readsFields = keys.contains { if case .user = $0.field { true } else { false } }
    }

    private static func key(
        _ sort: QueryDictionary.Sort, _ checking: FilterChecking
    ) throws -> Key? {
        // The service does not know the order of encrypted values, so they have none; CloudKit takes
        // such a key too.
        guard let rule = try checking.rule(of: sort.field), !rule.isEncrypted else { return nil }
        if let centre = sort.relativeLocation {
            guard rule.type == .location else {
                throw ServiceError.invalid("Sort by the distance of a LOCATION field.")
            }
            guard centre.isOnEarth, sort.isAscending else {
                throw ServiceError.invalid(
                    "Sort by the distance from a place on the earth, the nearest first.")
            }
            try checking.expect(.sortable, of: sort.field)
            return Key(field: sort.field, type: rule.type, isAscending: true, centre: centre)
        }
        guard rule.type != .location else {
            throw ServiceError.invalid("Say relative to which location the places are sorted.")
        }
        try checking.expect(.sortable, of: sort.field)
        guard rule.type.isOrdered else {
            throw ServiceError.invalid("The values of a sort field must have an order.")
        }
        return Key(field: sort.field, type: rule.type, isAscending: sort.isAscending, centre: nil)
    }

    func position(of row: RecordRow, in zoneName: String, _ values: RecordValues) -> QueryPosition {
        QueryPosition(
            keys: keys.map { $0.bytes(of: values[$0.field]) }, zoneName: zoneName,
            recordName: row.name)
    }

    func isBefore(_ one: QueryPosition, _ other: QueryPosition) -> Bool {
        for (index, key) in keys.enumerated() {
            let (left, right) = (one.keys[index], other.keys[index])
            if left == right { continue }
            return left.lexicographicallyPrecedes(right) == key.isAscending
        }
        if one.zoneName != other.zoneName {
            return StoredNameOrder.isBefore(one.zoneName, other.zoneName)
        }
        return StoredNameOrder.isBefore(one.recordName, other.recordName)
    }
}

extension RecordOrder.Key {
    /// The key of a record without a place, after all distances.
    static let nowhere = IndexKey.last

    /// What a record with this value is ordered by.
    func bytes(of value: FieldValue?) -> [UInt8] {
        guard let centre else { return value.flatMap(IndexKey.bytes(of:)) ?? IndexKey.missing }
        guard case .location(let place) = value, place.isOnEarth else { return Self.nowhere }
        return IndexKey.bytes(of: centre.distance(to: place))
    }
}

/// Where a page of a query ended.
struct QueryPosition: Hashable, Sendable {
    /// The keys of the sort keys; without those, the key of the index that was followed.
    var keys: [[UInt8]]
    var zoneName: String
    var recordName: String
    /// Which index was followed, and which stretch of it; only without sort keys.
    var drive = 0
    var segment = 0
}

/// The order in which the store keeps names: by their bytes.
enum StoredNameOrder {
    static func isBefore(_ one: String, _ other: String) -> Bool {
        one.utf8.lexicographicallyPrecedes(other.utf8)
    }
}
