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
                throw ServiceError.invalid("A sort by distance needs a LOCATION field; name one.")
            }
            guard centre.isOnEarth, sort.isAscending else {
                throw ServiceError.invalid(
                    "A sort by distance starts at a place on the earth and ascends; give it both.")
            }
            try checking.expect(.sortable, of: sort.field)
            return Key(field: sort.field, type: rule.type, isAscending: true, centre: centre)
        }
        guard rule.type != .location else {
            throw ServiceError.invalid(
                "A sort by a LOCATION field has no location to measure from; give one.")
        }
        try checking.expect(.sortable, of: sort.field)
        guard rule.type.isOrdered else {
            throw ServiceError.invalid("The values of a sort field must have an order.")
        }
        return Key(field: sort.field, type: rule.type, isAscending: sort.isAscending)
    }
}
