import StratusRecords

extension QueryDictionary: WireObject {
    public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
        try coder.required("recordType", &recordType)
        try coder.defaulted("filterBy", &filterBy)
        try coder.defaulted("sortBy", &sortBy)
    }
}

extension QueryDictionary.Filter: WireReadable, WireWritable {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        let comparator: QueryDictionary.Comparator = try node.required("comparator")
        guard let fieldValue = node["fieldValue"] else {
            throw WireError("This key is required.", at: "fieldValue")
        }
        let read: Field
        do {
            read = try Field(name: "", wire: fieldValue)
        } catch {
            throw error.within("fieldValue")
        }
        guard let value = read.value else {
            throw WireError("A filter needs a value that is not null.", at: "fieldValue.value")
        }
        let isTokenSearch = comparator == .containsAllTokens || comparator == .containsAnyTokens
        self.init(
            comparator,
            try QueryDictionary.FieldName(wire: node, isOptional: isTokenSearch),
            value, isTypeDeclared: read.isTypeDeclared,
            distanceMetres: try node.optional("distance"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("comparator", comparator)
            field.writeMember(to: &writer)
            writer.member("fieldValue", Field(name: "", value: value))
            writer.optional("distance", distanceMetres)
        }
    }
}

extension QueryDictionary.Sort: WireReadable, WireWritable {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(
            try QueryDictionary.FieldName(wire: node, isOptional: false),
            isAscending: try node.optional("ascending") ?? true,
            relativeLocation: try Self.relativeLocation(node))
    }

    /// Reads the location as a field value, as documented, or bare.
    private static func relativeLocation(_ node: JSONNode) throws(WireError) -> Location? {
        guard let place = node["relativeLocation"], !place.isNull else { return nil }
        do {
            if let location: Location = try place.optional("value") { return location }
            return try Location(wire: place)
        } catch {
            throw error.within("relativeLocation")
        }
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            field.writeMember(to: &writer)
            writer.member("ascending", isAscending)
            if let relativeLocation {
                writer.member(
                    "relativeLocation", Field(name: "", value: .location(relativeLocation)))
            }
        }
    }
}

extension QueryDictionary.FieldName {
    /// All searchable fields of the type: a search for tokens without a field name.
    public static let anySearchable = Self.user("")

    fileprivate init(wire node: JSONNode, isOptional: Bool) throws(WireError) {
        if let word: QueryDictionary.SystemField = try node.optional("systemFieldName") {
            self = .system(word)
            return
        }
        guard let name: String = try node.optional("fieldName") else {
            guard isOptional else { throw WireError("This key is required.", at: "fieldName") }
            self = .anySearchable
            return
        }
        guard name.hasPrefix("___") else {
            self = .user(name)
            return
        }
        guard let field = QueryDictionary.SystemField(schemaName: name) else {
            throw WireError(
                "The protocol does not know this system field; it has ___recordID, ___share, ___parent,"
                    + " ___createdBy, ___createTime, ___modTime and ___modifiedBy.",
                at: "fieldName")
        }
        self = .system(field)
    }

    fileprivate func writeMember(to writer: inout JSONWriter) {
        switch self {
        case .anySearchable: break
        case .user(let name): writer.member("fieldName", name)
        case .system(let field): writer.member("systemFieldName", field)
        }
    }
}

extension QueryDictionary.SystemField {
    /// The field with a name in the schema language, such as `___createTime`; nil for any other
    /// name.
    fileprivate init?(schemaName: String) {
        switch schemaName {
        case "___recordID", "___recordId": self = .recordName
        case "___share": self = .share
        case "___parent": self = .parent
        case "___createdBy": self = .createdUserRecordName
        case "___createTime": self = .createdTimestamp
        case "___modTime": self = .modifiedTimestamp
        case "___modifiedBy": self = .modifiedUserRecordName
        default: return nil
        }
    }
}
