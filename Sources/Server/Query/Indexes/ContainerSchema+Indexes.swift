import StratusMatching
import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

extension ContainerSchema {
    /// The indexes of a record type: of names, of parents, and of the fields that the schema marks.
    func indexes(of recordType: String) -> Set<IndexRow.Definition> {
        var wanted: Set = [
            IndexRow.Definition(
                recordType: recordType, field: "", kind: .name, valueType: nil),
            .value(.system(.parent), .reference, of: recordType),
        ]
        for (field, rule) in types[recordType] ?? [:] where !rule.isEncrypted {
            if field == SchemaSystemField.recordID.rawValue { continue }
            if field == SchemaSystemField.etag.rawValue { continue }
            if !rule.indexes.isDisjoint(with: [.queryable, .sortable]) {
                wanted.insert(.value(named: field, rule.type, of: recordType))
            }
            if rule.indexes.contains(.searchable) {
                wanted.insert(.tokens(of: field, rule.type, of: recordType))
            }
        }
        return wanted.filter { $0.kind != .value || $0.isOrdered }
    }

    /// The names of the text fields that a search without a field name covers, sorted.
    func searchableFields(of recordType: String) -> [String] {
        (types[recordType] ?? [:])
            .filter { $0.value.indexes.contains(.searchable) && !$0.value.isEncrypted }
            .map(\.key).sorted()
    }
}

extension IndexRow.Definition {
    static func name(of recordType: String) -> Self {
        Self(recordType: recordType, field: "", kind: .name, valueType: nil)
    }

    /// The index of a field's values; for a location field, of the cells.
    static func value(
        _ field: QueryDictionary.FieldName, _ type: FieldType, of recordType: String
    ) -> Self {
        switch field {
        case .user(let name): value(named: name, type, of: recordType)
        case .system(.recordName): name(of: recordType)
        case .system(let field): value(named: field.schemaName, type, of: recordType)
        }
    }

    fileprivate static func value(
        named field: String, _ type: FieldType, of recordType: String
    ) -> Self {
        let isPlace = type == .location || type == .locationList
        return Self(
            recordType: recordType, field: field, kind: isPlace ? .place : .value, valueType: type)
    }

    /// The index of a field's values in which the records of each value are ordered by a sort key; nil when the order
    /// is not by values.
    static func compound(
        _ field: QueryDictionary.FieldName, _ type: FieldType, _ key: RecordOrder.Key,
        of recordType: String
    ) -> Self? {
        let grouped = value(field, type, of: recordType)
        let ordered = value(key.field, key.type, of: recordType)
        guard key.centre == nil, grouped.kind == .value, ordered.kind == .value,
            grouped.isOrdered, key.type.isOrdered, grouped.field != ordered.field
        else { return nil }
        return Self(
            recordType: recordType, field: grouped.field, kind: .compound, valueType: type,
            order: Order(field: ordered.field, valueType: key.type))
    }

    /// The indexes of the two fields of a compound index: it is allowed if the schema allows both.
    var components: [Self] {
        guard let order, let valueType else { return [] }
        return [
            .value(named: field, valueType, of: recordType),
            .value(named: order.field, order.valueType, of: recordType),
        ]
    }

    static func tokens(of field: String, _ type: FieldType, of recordType: String) -> Self {
        Self(recordType: recordType, field: field, kind: .token, valueType: type)
    }

    /// Whether values of the field's type, or a list's members, have keys.
    fileprivate var isOrdered: Bool { (valueType?.element ?? valueType)?.isOrdered ?? false }

    /// Whether every record has exactly one entry, even without a value in the field, as a sort needs it.
    var hasEveryRecord: Bool {
        kind == .name
            || (kind == .value || kind == .place) && !(valueType?.isList ?? false)
                && field != QueryDictionary.SystemField.parent.schemaName
    }

    private static func name(_ field: String) -> QueryDictionary.FieldName {
        QueryDictionary.SystemField(schemaName: field).map { .system($0) } ?? .user(field)
    }

    /// The keys of a record, in order, each once.
    func keys(of values: RecordValues) -> [[UInt8]] {
        switch kind {
        case .name: return [IndexKey.missing]
        case .token:
            return (values[Self.name(field)]?.searchTokens ?? []).map { IndexKey.counted($0) }
        case .value, .place: break
        case .compound: return compoundKeys(of: values)
        }
        guard let value = values[Self.name(field)] else {
            return hasEveryRecord ? [IndexKey.missing] : []
        }
        guard let members = value.members else {
            if let key = key(of: value) { return [key] }
            return hasEveryRecord ? [IndexKey.missing] : []
        }
        return Set(members.compactMap(key(of:)))
            .sorted { $0.lexicographicallyPrecedes($1) }
    }

    private func compoundKeys(of values: RecordValues) -> [[UInt8]] {
        guard let order, let value = values[Self.name(field)] else { return [] }
        let place = values[Self.name(order.field)].flatMap(IndexKey.bytes(of:)) ?? IndexKey.missing
        return Set((value.members ?? [value]).compactMap(IndexKey.group(of:)))
            .map { $0 + place }
            .sorted { $0.lexicographicallyPrecedes($1) }
    }

    private func key(of value: FieldValue) -> [UInt8]? {
        guard kind == .place else { return IndexKey.bytes(of: value) }
        guard case .location(let place) = value, place.isOnEarth else { return nil }
        return PlaceCell.key(of: place)
    }
}

extension QueryDictionary.SystemField {
    /// The field's name in the schema language. Share and parent have none there; these look similar.
    var schemaName: String {
        switch self {
        case .recordName: SchemaSystemField.recordID.rawValue
        case .share: "___share"
        case .parent: "___parent"
        case .createdUserRecordName: SchemaSystemField.createdBy.rawValue
        case .createdTimestamp: SchemaSystemField.createTime.rawValue
        case .modifiedTimestamp: SchemaSystemField.modTime.rawValue
        case .modifiedUserRecordName: SchemaSystemField.modifiedBy.rawValue
        }
    }

    fileprivate init?(schemaName: String) {
        guard schemaName.hasPrefix("___"),
            let field = Self.allCases.first(where: { $0.schemaName == schemaName })
        else { return nil }
        self = field
    }
}
