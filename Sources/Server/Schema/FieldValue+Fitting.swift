import StratusRecords

extension FieldValue {
    /// The value in the form that a field of this type stores; nil when it does not fit.
    ///
    /// A declared type must be the field's own. A type that was guessed from JSON may differ: `22` fits a DOUBLE or a
    /// TIMESTAMP, a base64 string fits BYTES. An empty list fits every list.
    package func fitted(to type: FieldType, isDeclared: Bool) -> FieldValue? {
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
            let values = texts.compactMap(Base64.bytes(_:))
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
}
