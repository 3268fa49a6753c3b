import StratusRecords

// Converts directly from the parser's tape to the bytes that a device keeps: a page of a first sync has hundreds of
// records whose values are not needed.

extension RecordFields {
    /// The fields in the form that a device keeps, if that is the same on each device; otherwise as values.
    ///
    /// - Throws: ``WireError`` when the fields are bytes that do not parse.
    package func keeping() throws(WireError) -> RecordFields {
        guard case .encoded(let bytes) = self else { return self }
        let outcome: Result<RecordFields, WireError> = bytes.withUnsafeBytes { buffer in
            Result { () throws(WireError) in
                try JSONDocument(parsing: buffer).withRoot { (root) throws(WireError) in
                    try RecordFields(keeping: root)
                }
            }
        }
        return try outcome.get()
    }

    init(keeping node: JSONNode) throws(WireError) {
        var writer = JSONWriter(reservingBytes: 64 + node.count * 64)
        if node.isObject, node.count <= Limits.readableFieldsPerRecord,
            writer.keeps(fields: node)
        {
            self = .kept(writer.finish())
        } else {
            try self.init(wire: node)
        }
    }
}

extension JSONWriter {
    /// - Returns: whether it wrote them; otherwise they must be read as values.
    fileprivate mutating func keeps(fields: JSONNode) -> Bool {
        var isKept = true
        object { writer in
            var last: JSONText?
            for (name, field) in fields.members where !field.isNull {
                guard name.isKept, last.map({ $0.isBefore(name) }) ?? true,
                    writer.keeps(name, field)
                else {
                    isKept = false
                    return
                }
                last = name
            }
        }
        return isKept
    }

    private mutating func keeps(_ name: JSONText, _ field: JSONNode) -> Bool {
        var value: JSONNode?
        var type: JSONText?
        for (key, member) in field.members {
            switch key {
            case "value": value = member
            case "type": type = member.stringText
            // Exact dates, encrypted values, and everything else.
            default: return keepsValue(name, field)
            }
        }
        guard let value, let type else { return keepsValue(name, field) }
        switch type {
        case "STRING":
            guard let text = value.stringText else { return false }
            member(name, "STRING") { $0.string(text) }
        case "INT64":
            guard value.kind == .integer, let number = value.int64 else { return false }
            member(name, "INT64") { $0.integer(number) }
        case "TIMESTAMP":
            guard value.kind == .integer, let number = value.int64 else { return false }
            member(name, "TIMESTAMP") { $0.integer(number) }
        case "DOUBLE":
            guard let number = value.double else { return false }
            member(name, "DOUBLE") { $0.double(number) }
        default: return keepsValue(name, field)
        }
        return true
    }

    /// Writes a field by its value, if that is the same on each device.
    private mutating func keepsValue(_ name: JSONText, _ node: JSONNode) -> Bool {
        // A field that cannot be read is read again with the values, and that reports the error.
        guard var field = try? Field(name: name.string, wire: node), !field.isEncrypted else {
            return false
        }
        field.value = field.value?.withoutTypeIfEmpty
        switch field.value {
        case nil: return true
        case .reference, .referenceList, .asset, .assetList: return false
        default:
            key(name)
            field.writeValue(to: &self, numbersAsStrings: false)
            return true
        }
    }

    @inline(__always)
    private mutating func member(
        _ name: JSONText, _ type: StaticString, _ value: (inout JSONWriter) -> Void
    ) {
        key(name)
        object { writer in
            writer.key("value")
            value(&writer)
            writer.key("type")
            writer.word(type)
        }
    }
}

extension JSONText {
    /// Whether a field can be kept under this name: its bytes are in the order of the text, and it is none of the names
    /// that only a device gives.
    fileprivate var isKept: Bool {
        bytes.first != UInt8(ascii: "*") && bytes.allSatisfy { $0 < 0x80 }
    }

    fileprivate func isBefore(_ other: JSONText) -> Bool {
        bytes.lexicographicallyPrecedes(other.bytes)
    }
}
