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
                throw ServiceError.invalid(
                    "The field '\(sort.field.spelling)' of a sort by distance has the type"
                        + " \(rule.type.rawValue); name a LOCATION field.")
            }
            guard centre.isOnEarth, sort.isAscending else {
                throw ServiceError.invalid(
                    "The sort by the distance of '\(sort.field.spelling)' descends or starts at no place"
                        + " on the earth; let it ascend from one.")
            }
            try checking.expect(.sortable, of: sort.field)
            return Key(field: sort.field, type: rule.type, isAscending: true, centre: centre)
        }
        guard rule.type != .location else {
            throw ServiceError.invalid(
                "The sort by the LOCATION field '\(sort.field.spelling)' has no place to measure from;"
                    + " give one in relativeLocation.")
        }
        try checking.expect(.sortable, of: sort.field)
        guard rule.type.isOrdered else {
            throw ServiceError.invalid(
                "The field '\(sort.field.spelling)' has the type \(rule.type.rawValue), whose values"
                    + " have no order; sort by another field.")
        }
        return Key(field: sort.field, type: rule.type, isAscending: sort.isAscending)
    }
}
