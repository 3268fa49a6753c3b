import StratusRecords

extension RecordFields {
    /// The fields as values; parses them if there are only bytes.
    ///
    /// - Throws: ``WireError`` when the bytes are not fields.
    public func values() throws(WireError) -> [Field] {
        switch self {
        case .values(let fields): fields
        case .encoded(let bytes), .kept(let bytes): try readWire(FieldList.self, from: bytes).fields
        }
    }

    /// Some of the fields as values; the others are skipped without parsing.
    ///
    /// - Throws: ``WireError`` when the bytes are not fields.
    package func values(named names: [String]) throws(WireError) -> [Field] {
        guard !names.isEmpty else { return [] }
        switch self {
        case .values(let fields): return fields.filter { names.contains($0.name) }
        case .encoded(let bytes), .kept(let bytes):
            // withUnsafeBytes rethrows untyped, so the result is returned as a value.
            let outcome: Result<[Field], WireError> = bytes.withUnsafeBytes { buffer in
                Result { () throws(WireError) in
                    try JSONDocument(parsing: buffer).withRoot { (root) throws(WireError) in
                        try FieldList(wire: root, only: names).fields
                    }
                }
            }
            return try outcome.get()
        }
    }

    /// The fields as normalised JSON, every value with its type; copies nothing when they are
    /// already in that form.
    public func encoded() -> [UInt8] {
        switch self {
        case .values(let fields): Self.encode(fields)
        case .encoded(let bytes), .kept(let bytes): bytes
        }
    }

    /// The fields as normalised JSON in the form that a request asked for.
    ///
    /// - Parameters:
    ///   - keys: The names of the requested fields, in any order; nil for all.
    ///   - numbersAsStrings: Whether INT64, DOUBLE and TIMESTAMP become strings.
    /// - Throws: ``WireError`` when the fields are bytes that do not parse.
    public func encoded(
        only keys: [String]?, numbersAsStrings: Bool = false
    ) throws(WireError) -> [UInt8] {
        if keys == nil && !numbersAsStrings { return encoded() }
        var fields = try values()
        if let keys {
            let wanted = Set(keys)
            fields.removeAll { !wanted.contains($0.name) }
        }
        return Self.encode(fields, numbersAsStrings: numbersAsStrings)
    }

    private static func encode(_ fields: [Field], numbersAsStrings: Bool = false) -> [UInt8] {
        var writer = JSONWriter(reservingBytes: fields.count * 64)
        writer.fields(fields, numbersAsStrings: numbersAsStrings)
        return writer.finish()
    }
}

extension RecordFields {
    private static let exactKeys = [#""exactValue":"#, #""exactTimestamp":"#].map { Array($0.utf8) }

    /// The fields without our own client's additions: dates are whole milliseconds.
    ///
    /// - Throws: ``WireError`` when the fields are bytes that do not parse.
    public func inMilliseconds() throws(WireError) -> RecordFields {
        if case .encoded(let bytes) = self,
            !Self.exactKeys.contains(where: { bytes.contains(bytes: $0) })
        {
            return self
        }
        var fields = try values()
        for index in fields.indices { fields[index].value = fields[index].value?.inMilliseconds }
        return .values(fields)
    }
}

extension RecordFields: WireReadable, WireWritable {
    /// Reads the fields as values.
    public init(wire node: JSONNode) throws(WireError) {
        self = .values(try FieldList(wire: node).fields)
    }

    /// Writes values, or copies bytes without parsing.
    public func write(to writer: inout JSONWriter) {
        switch self {
        case .values(let fields): writer.fields(fields, numbersAsStrings: false)
        case .encoded(let bytes), .kept(let bytes): writer.raw(bytes)
        }
    }
}

extension JSONWriter {
    fileprivate mutating func fields(_ fields: [Field], numbersAsStrings: Bool) {
        object { writer in
            for field in fields {
                writer.key(field.name)
                field.writeValue(to: &writer, numbersAsStrings: numbersAsStrings)
            }
        }
    }
}

/// The object under `fields`, in the order of the text.
private struct FieldList: WireReadable {
    /// The most fields that can be read: `Limits.fieldsPerRecord` can be at most this.
    private static let maximumCount = Limits.readableFieldsPerRecord
    private static let tooMany = WireError(
        "The record has more than \(Limits.readableFieldsPerRecord) fields; divide it into several records."
    )

    var fields: [Field] = []

    init(wire node: JSONNode) throws(WireError) { try self.init(wire: node, only: nil) }

    init(wire node: JSONNode, only names: [String]?) throws(WireError) {
        try node.expectObject()
        guard node.count <= Self.maximumCount else { throw Self.tooMany }
        fields.reserveCapacity(names?.count ?? node.count)
        for (key, member) in node.members where !member.isNull {
            let name = key.string
            if let names, !names.contains(name) { continue }
            do {
                fields.append(try Field(name: name, wire: member))
            } catch {
                throw error.within(name)
            }
        }
        dropRepeatedNames()
    }

    /// Keeps only the last of fields with the same name.
    private mutating func dropRepeatedNames() {
        guard hasRepeatedNames else { return }
        var seen: Set<String> = []
        let last = fields.reversed().filter { seen.insert($0.name).inserted }
        fields = last.reversed()
    }

    private var hasRepeatedNames: Bool {
        // Most records have few fields, where comparing each pair is faster than hashing.
        guard fields.count <= 12 else { return Set(fields.map(\.name)).count < fields.count }
        return fields.withUnsafeBufferPointer { fields in
            for index in 0..<fields.count {
                for other in 0..<index where fields[other].name == fields[index].name {
                    return true
                }
            }
            return false
        }
    }
}
