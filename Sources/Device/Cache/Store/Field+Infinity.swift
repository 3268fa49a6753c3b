import StratusRecords

// JSON cannot represent numbers that are not finite. A field with one is stored as text, under a
// name that no field can have (`Names.isIdentifier`): "*!" and the name. A number is stored as its
// 64 bits in hexadecimal, a location as its eight numbers separated by commas, empty for a missing
// one. A field whose own name has such a prefix, which the service refuses, is stored under "*="
// and the name.

extension Field {
    private static let mark = "*"
    private static let textMark = "*!"
    private static let nameMark = "*="

    /// The field in a form that JSON can represent.
    var withoutInfinity: Field {
        let text: FieldValue? =
            switch value {
            case .double(let number) where !number.isFinite: .string(number.hexadecimal)
            case .doubleList(let numbers) where !numbers.allSatisfy(\.isFinite):
                .stringList(numbers.map(\.hexadecimal))
            case .location(let place) where !place.isFinite: .string(place.text)
            case .locationList(let places) where !places.allSatisfy(\.isFinite):
                .stringList(places.map(\.text))
            default: nil
            }
        if let text {
            return Field(name: Self.textMark + name, value: text, isEncrypted: isEncrypted)
        }
        return name.hasPrefix(Self.mark) ? renamed(Self.nameMark + name) : self
    }

    /// The original field, from ``withoutInfinity``.
    var withInfinity: Field {
        guard name.hasPrefix(Self.mark) else { return self }
        let name = String(name.dropFirst(Self.textMark.count))
        guard self.name.hasPrefix(Self.textMark) else { return renamed(name) }
        let original: FieldValue? =
            switch value {
            case .string(let text):
                Double(hexadecimal: text).map { .double($0) }
                    ?? Location(text: text).map { .location($0) }
            case .stringList(let texts):
                Self.all(texts, Double.init(hexadecimal:)).map { .doubleList($0) }
                    ?? Self.all(texts, Location.init(text:)).map { .locationList($0) }
            default: nil
            }
        return Field(name: name, value: original ?? value, isEncrypted: isEncrypted)
    }

    private func renamed(_ name: String) -> Field {
        Field(name: name, value: value, isEncrypted: isEncrypted)
    }

    private static func all<Value>(
        _ texts: [String], _ read: (String) -> Value?
    ) -> [Value]? {
        let values = texts.compactMap(read)
        return values.count == texts.count ? values : nil
    }
}

extension Double {
    fileprivate var hexadecimal: String { String(bitPattern, radix: 16) }

    fileprivate init?(hexadecimal text: some StringProtocol) {
        guard let bits = UInt64(text, radix: 16) else { return nil }
        self.init(bitPattern: bits)
    }
}

extension Location {
    private var numbers: [Double?] {
        [latitude, longitude, horizontalAccuracy, verticalAccuracy, altitude, speed, course]
    }

    fileprivate var isFinite: Bool { numbers.allSatisfy { $0?.isFinite != false } }

    fileprivate var text: String {
        let parts = numbers.map { $0?.hexadecimal ?? "" }
        return (parts + [timestampMilliseconds.map { "\($0)" } ?? ""]).joined(separator: ",")
    }

    fileprivate init?(text: String) {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 8, let latitude = Double(hexadecimal: parts[0]),
            let longitude = Double(hexadecimal: parts[1])
        else { return nil }
        self.init(
            latitude: latitude, longitude: longitude,
            horizontalAccuracy: Double(hexadecimal: parts[2]),
            verticalAccuracy: Double(hexadecimal: parts[3]),
            altitude: Double(hexadecimal: parts[4]), speed: Double(hexadecimal: parts[5]),
            course: Double(hexadecimal: parts[6]), timestampMilliseconds: Int64(parts[7]))
    }
}
