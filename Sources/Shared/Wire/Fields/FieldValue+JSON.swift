import StratusRecords

extension Field {
    /// Reads `{"value": …, "type": "…", "isEncrypted": …}`; a value that is null or absent is nil.
    init(name: String, wire node: JSONNode) throws(WireError) {
        try self.init(name: name, inMilliseconds: node)
        if case .timestamp = value { readExactDates(node) }
        if case .timestampList = value { readExactDates(node) }
    }

    private mutating func readExactDates(_ node: JSONNode) {
        if let exact = node[Self.exactKey] { value = value?.with(exactDates: exact) }
    }

    /// An extension: exact dates, in addition to the protocol's milliseconds.
    fileprivate static let exactKey: StaticString = "exactValue"

    private init(name: String, inMilliseconds node: JSONNode) throws(WireError) {
        guard node.isObject else { throw WireError("Expected an object with a value.") }
        var json: JSONNode?
        var typeTag: JSONNode?
        var isEncrypted = false
        for (key, member) in node.members {
            switch key {
            case "value": json = member.isNull ? nil : member
            case "type": typeTag = member.isNull ? nil : member
            case "isEncrypted": isEncrypted = member.isNull ? false : try Bool(wire: member)
            default: break
            }
        }
        guard let typeTag else {
            self.init(
                name: name, value: try json.map(FieldValue.init(inferring:)), isTypeDeclared: false,
                isEncrypted: isEncrypted)
            return
        }
        guard let tag = typeTag.stringText.flatMap({ TypeTag($0) }) else {
            throw WireError(
                "The protocol does not know this type; Documentation/Wire.md lists the types.",
                at: "type")
        }
        switch tag {
        case .type(let type):
            self.init(
                name: name, value: try FieldValue(wire: json, as: type), isEncrypted: isEncrypted)
        case .list:
            guard json?.isArray != false else {
                throw WireError("Expected an array.", at: "value")
            }
            self.init(
                name: name, value: try json.map(FieldValue.init(inferring:)), isTypeDeclared: false,
                isEncrypted: isEncrypted)
        case .encrypted(let type):
            self.init(
                name: name, value: try FieldValue(wire: json, as: type), isEncrypted: true,
                hasEncryptedType: true)
        }
    }
}

extension FieldValue {
    /// Reads a JSON value that may be absent.
    @inline(__always)
    fileprivate init?(wire node: JSONNode?, as type: FieldType) throws(WireError) {
        guard let node else { return nil }
        self = try FieldValue(wire: node, as: type)
    }
}

extension FieldValue {
    /// Reads a JSON value as the type that its tag names.
    init(wire node: JSONNode, as type: FieldType) throws(WireError) {
        switch type {
        case .string: self = .string(try node.scalar(.string, { $0.string }))
        case .int64: self = .int64(try node.scalar(.int64, { $0.wholeNumber }))
        case .double: self = .double(try node.scalar(.double, { $0.number }))
        case .timestamp:
            self = .timestamp(milliseconds: try node.scalar(.timestamp, { $0.wholeNumber }))
        case .bytes: self = .bytes(try node.scalar(.bytes, { $0.base64 }))
        case .location: self = .location(try Location(wire: node))
        case .reference: self = .reference(try Reference(wire: node))
        case .asset: self = .asset(try AssetReceipt(wire: node))
        case .stringList: self = .stringList(try node.list(type, { $0.string }))
        case .int64List: self = .int64List(try node.list(type, { $0.wholeNumber }))
        case .doubleList: self = .doubleList(try node.list(type, { $0.number }))
        case .timestampList:
            self = .timestampList(milliseconds: try node.list(type, { $0.wholeNumber }))
        case .bytesList: self = .bytesList(try node.list(type, { $0.base64 }))
        case .locationList: self = .locationList(try node.objects(type))
        case .referenceList: self = .referenceList(try node.objects(type))
        case .assetList: self = .assetList(try node.objects(type))
        }
    }

    /// Reads a JSON value without a declared type.
    init(inferring node: JSONNode) throws(WireError) {
        guard let type = try Self.inferredType(of: node) else {
            self = .emptyList
            return
        }
        self = try FieldValue(wire: node, as: type)
    }

    /// The type by the rules of the protocol; nil for an empty array.
    private static func inferredType(of node: JSONNode) throws(WireError) -> FieldType? {
        switch node.kind {
        case .string: return .string
        // Only a double can hold a number beyond 64 bits with a sign.
        case .integer: return node.int64 == nil ? .double : .int64
        case .bool: return .int64
        case .double: return .double
        case .object:
            if node["latitude"] != nil, node["longitude"] != nil { return .location }
            if node["recordName"] != nil { return .reference }
            if node["fileChecksum"] != nil || node["receipt"] != nil { return .asset }
        case .array:
            var list: FieldType?
            for element in node.elements {
                guard let type = try inferredType(of: element)?.list else { break }
                if list == .int64List && type == .doubleList { list = type }
                list = list ?? type
            }
            if list != nil || node.count == 0 { return list }
        case .null: break
        }
        throw WireError(
            "The value has no type, and none can be inferred from its form; declare one in type.",
            at: "value")
    }
}

extension FieldType {
    /// The type of a list of such values; nil for a list.
    fileprivate var list: FieldType? {
        FieldType.allCases.first { $0.element == self }
    }
}

extension JSONNode {
    /// A whole number, a Boolean as 1 or 0, or a string of digits.
    fileprivate var wholeNumber: Int64? {
        if let int64 { return int64 }
        if let bool { return bool ? 1 : 0 }
        return string.flatMap { Int64($0) }
    }

    /// A finite number, or a string of one.
    var number: Double? {
        if let double { return double }
        return string.flatMap { Double($0) }.flatMap { $0.isFinite ? $0 : nil }
    }

    fileprivate var base64: [UInt8]? { stringText.flatMap { Base64.decode($0.bytes) } }

    @inline(__always)
    fileprivate func scalar<Value>(
        _ type: FieldType, _ read: (JSONNode) -> Value?
    ) throws(WireError) -> Value {
        guard let value = read(self) else { throw type.mismatch }
        return value
    }

    @inline(__always)
    fileprivate func list<Value>(
        _ type: FieldType, _ read: (JSONNode) -> Value?
    ) throws(WireError) -> [Value] {
        guard isArray else { throw type.mismatch }
        var values: [Value] = []
        values.reserveCapacity(count)
        for element in elements {
            guard let value = read(element) else { throw type.mismatch }
            values.append(value)
        }
        return values
    }

    fileprivate func objects<Value: WireReadable>(
        _ type: FieldType
    ) throws(WireError) -> [Value] {
        guard isArray else { throw type.mismatch }
        do {
            return try [Value](wire: self)
        } catch {
            throw error.within("value")
        }
    }
}

extension Field: WireWritable {
    /// Writes the field's value, always with its type.
    public func write(to writer: inout JSONWriter) {
        writeValue(to: &writer, numbersAsStrings: false)
    }

    func writeValue(to writer: inout JSONWriter, numbersAsStrings: Bool) {
        // The type says it, and clients that check every key do not know a flag for it.
        let encryptedTag = hasEncryptedType ? value?.type?.encryptedTag : nil
        writer.object { writer in
            writer.key("value")
            if let value {
                value.writeRaw(to: &writer, numbersAsStrings: numbersAsStrings)
                writer.key("type")
                writer.word(encryptedTag ?? value.type?.tag ?? "UNKNOWN_LIST")
                // A client that wants numbers as strings is not our own.
                if !numbersAsStrings { value.writeExactDates(Self.exactKey, to: &writer) }
            } else {
                writer.null()
            }
            writer.flag("isEncrypted", isEncrypted && encryptedTag == nil)
        }
    }
}

extension FieldValue {
    /// Writes the JSON under `value`.
    func writeRaw(to writer: inout JSONWriter, numbersAsStrings quoted: Bool = false) {
        switch self {
        case .string(let value): writer.string(value)
        case .int64(let value), .timestamp(let value, _):
            writer.integer(value, isQuoted: quoted)
        case .double(let value): writer.double(value, isQuoted: quoted)
        case .bytes(let value): writer.base64(value)
        case .location(let value): value.write(to: &writer)
        case .reference(let value): value.write(to: &writer)
        case .asset(let value): value.write(to: &writer)
        case .stringList(let values):
            writer.array { for value in values { $0.string(value) } }
        case .int64List(let values), .timestampList(let values, _):
            writer.array { for value in values { $0.integer(value, isQuoted: quoted) } }
        case .doubleList(let values):
            writer.array { for value in values { $0.double(value, isQuoted: quoted) } }
        case .bytesList(let values):
            writer.array { for value in values { $0.base64(value) } }
        case .locationList(let values):
            writer.array { for value in values { value.write(to: &$0) } }
        case .referenceList(let values):
            writer.array { for value in values { value.write(to: &$0) } }
        case .assetList(let values):
            writer.array { for value in values { value.write(to: &$0) } }
        case .emptyList: writer.array { _ in }
        }
    }
}

extension FieldValue {
    /// The value with exact dates, as far as they agree with the milliseconds; others are ignored.
    fileprivate func with(exactDates node: JSONNode) -> FieldValue {
        switch self {
        case .timestamp(let milliseconds, _):
            guard let seconds = node.number, ExactDate.milliseconds(of: seconds) == milliseconds
            else { return self }
            return .timestamp(milliseconds: milliseconds, exactSeconds: seconds)
        case .timestampList(let milliseconds, _):
            guard node.isArray, node.count == milliseconds.count else { return self }
            let seconds = node.elements.compactMap(\.number)
            guard seconds.map(ExactDate.milliseconds) == milliseconds else { return self }
            return .timestampList(milliseconds: milliseconds, exactSeconds: seconds)
        default: return self
        }
    }

    fileprivate func writeExactDates(_ key: StaticString, to writer: inout JSONWriter) {
        switch self {
        case .timestamp(_, let seconds?):
            writer.key(key)
            writer.double(seconds, isQuoted: false)
        case .timestampList(_, let seconds?):
            writer.key(key)
            writer.array { for value in seconds { $0.double(value, isQuoted: false) } }
        default: break
        }
    }
}
