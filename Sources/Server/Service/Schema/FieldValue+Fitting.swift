import StratusRecords

extension FieldValue {
    /// The value as a field of this type takes it; nil when it does not fit.
    ///
    /// A declared type must be the field's own. A type that was guessed from JSON gives way: `22` fits
    /// a DOUBLE or a TIMESTAMP, a base64 string fits BYTES. An empty list fits every list.
    func fitted(to type: FieldType, isDeclared: Bool) -> FieldValue? {
        if self == .emptyList { return Self.emptyList(of: type) }
        if self.type == type { return self }
        guard !isDeclared else { return nil }
        switch (self, type) {
        case (.int64(let number), .double): return .double(Double(number))
        case (.int64(let number), .timestamp): return .timestamp(milliseconds: number)
        case (.string(let text), .bytes): return Base64.bytes(text).map { .bytes($0) }
        case (.int64List(let numbers), .doubleList): return .doubleList(numbers.map(Double.init))
        case (.int64List(let numbers), .timestampList):
            return .timestampList(milliseconds: numbers)
        case (.stringList(let texts), .bytesList):
            let values = texts.compactMap { Base64.bytes($0) }
            return values.count == texts.count ? .bytesList(values) : nil
        default: return nil
        }
    }

    private static func emptyList(of type: FieldType) -> FieldValue? {
        switch type {
        case .stringList: .stringList([])
        case .int64List: .int64List([])
        case .doubleList: .doubleList([])
        case .timestampList: .timestampList(milliseconds: [])
        case .bytesList: .bytesList([])
        case .locationList: .locationList([])
        case .referenceList: .referenceList([])
        case .assetList: .assetList([])
        case .string, .int64, .double, .timestamp, .bytes, .location, .reference, .asset: nil
        }
    }

    /// The members of a list; nil for a scalar.
    var members: [FieldValue]? {
        switch self {
        case .stringList(let values): values.map { .string($0) }
        case .int64List(let values): values.map { .int64($0) }
        case .doubleList(let values): values.map { .double($0) }
        case .timestampList(let values): values.map { .timestamp(milliseconds: $0) }
        case .bytesList(let values): values.map { .bytes($0) }
        case .locationList(let values): values.map { .location($0) }
        case .referenceList(let values): values.map { .reference($0) }
        case .assetList(let values): values.map { .asset($0) }
        case .emptyList: []
        case .string, .int64, .double, .timestamp, .bytes, .location, .reference, .asset: nil
        }
    }
}
