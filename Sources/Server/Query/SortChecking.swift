import StratusMatching
import StratusRecords
import StratusSchema
import StratusWire

extension RecordOrder {
    /// The order of a query, its sort keys checked against a schema.
    ///
    /// - Throws: ``ServiceError`` that names a field by which records cannot be sorted.
    package init(_ query: QueryDictionary, schema: ContainerSchema) throws {
        let checking = FilterChecking(
            recordType: query.recordType, schema: schema, isLenient: false)
        self.init(keys: try query.sortBy.compactMap { try Self.key($0, checking) })
    }

    private static func key(
        _ sort: QueryDictionary.Sort, _ checking: FilterChecking
    ) throws -> Key? {
        // The service cannot order encrypted values, so the key is left out; CloudKit accepts it too.
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
        return Key(field: sort.field, type: rule.type, isAscending: sort.isAscending)
    }
}
