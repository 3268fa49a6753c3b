/// A limit by its name: what `stratus serve --limit name=value` sets and `stratus limits` lists.
///
/// ```swift
/// var limits = Limits()
/// try NamedLimit.set("recordsPerPage=100", in: &limits)
/// ```
public struct NamedLimit: Sendable {
    /// What the value counts.
    public enum Unit: String, Sendable {
        /// A number of items.
        case count
        /// A number of bytes.
        case bytes
        /// A duration in seconds, which may have a fraction.
        case seconds
        /// A part of a whole, from 0 to 1.
        case share
    }

    /// An unknown name, or a value that the limit cannot have.
    public struct Refusal: Error, Hashable, Sendable {
        /// A sentence that names the limit and its value, and says what to do.
        public var sentence: String
        /// The name of the limit as it was given; empty if there was none.
        public var name: String
    }

    enum Property: Sendable {
        case integer(WritableKeyPath<Limits, Int> & Sendable)
        case integer64(WritableKeyPath<Limits, Int64> & Sendable)
        case number(WritableKeyPath<Limits, Double> & Sendable)
    }

    /// The property of ``Limits``.
    public let name: String
    /// What the value counts.
    public let unit: Unit
    /// One line that explains the limit to a person.
    public let meaning: String
    /// The source of the default; "own" if CloudKit's documents name no figure.
    public let source: String
    /// The values that the limit can have.
    public let range: ClosedRange<Double>
    let property: Property

    init(
        _ name: String, _ property: WritableKeyPath<Limits, Int> & Sendable, _ unit: Unit,
        _ meaning: String, source: String = "own", minimum: Int = 1, maximum: Int = 1 << 52
    ) {
        self.name = name
        self.unit = unit
        self.meaning = meaning
        self.source = source
        self.property = .integer(property)
        range = Double(minimum)...Double(maximum)
    }

    init(
        _ name: String, seconds property: WritableKeyPath<Limits, Double> & Sendable,
        _ meaning: String, source: String = "own", maximum: Double = 1e10
    ) {
        self.name = name
        self.unit = .seconds
        self.meaning = meaning
        self.source = source
        self.property = .number(property)
        range = 0.001...maximum
    }

    init(
        _ name: String, share property: WritableKeyPath<Limits, Double> & Sendable,
        _ meaning: String
    ) {
        self.name = name
        self.unit = .share
        self.meaning = meaning
        source = "own"
        self.property = .number(property)
        range = 0...1
    }

    init(
        _ name: String, long property: WritableKeyPath<Limits, Int64> & Sendable,
        _ meaning: String, unit: Unit = .count, source: String = "own"
    ) {
        self.name = name
        self.unit = unit
        self.meaning = meaning
        self.source = source
        self.property = .integer64(property)
        range = 0...Double(1 << 52)
    }
}

extension NamedLimit {
    /// The value as text: whole numbers without a fraction.
    public func text(in limits: Limits) -> String {
        switch property {
        case .integer(let path): return String(limits[keyPath: path])
        case .integer64(let path): return String(limits[keyPath: path])
        case .number(let path):
            let value = limits[keyPath: path]
            return value == value.rounded() && value.magnitude < 1e15
                ? String(Int64(value)) : String(value)
        }
    }

    /// Sets the limit from text.
    ///
    /// - Throws: ``Refusal`` when the text is not a number, or not one that the limit can have.
    public func set(_ text: String, in limits: inout Limits) throws(Refusal) {
        switch property {
        case .integer(let path):
            limits[keyPath: path] = Int(try wholeNumber(text))
        case .integer64(let path): limits[keyPath: path] = try wholeNumber(text)
        case .number(let path):
            guard let value = Double(text), range.contains(value) else {
                throw Refusal(
                    sentence: "The value '\(text)' of the limit \(name) is not a number from"
                        + " \(range.lowerBound) to \(range.upperBound); give such a number.",
                    name: name)
            }
            limits[keyPath: path] = value
        }
    }

    private func wholeNumber(_ text: String) throws(Refusal) -> Int64 {
        guard let value = Int64(text.filter { $0 != "_" }), range.contains(Double(value)) else {
            throw Refusal(
                sentence: "The value '\(text)' of the limit \(name) is not a whole number from"
                    + " \(Int64(range.lowerBound)) to \(Int64(range.upperBound)); give such a number.",
                name: name)
        }
        return value
    }

    /// Sets a limit from `name=value`.
    ///
    /// - Throws: ``Refusal`` when there is no such limit, or it cannot have the value.
    public static func set(_ assignment: String, in limits: inout Limits) throws(Refusal) {
        let parts = assignment.split(separator: "=", maxSplits: 1)
        let name = parts.first.map(String.init) ?? ""
        guard parts.count == 2, let limit = all.first(where: { $0.name == name }) else {
            throw Refusal(
                sentence: "There is no limit '\(name)', or it has no value; give both as in"
                    + " recordsPerPage=100. `stratus limits` lists all.",
                name: name)
        }
        try limit.set(String(parts[1]), in: &limits)
    }
}

extension Limits {
    /// The most fields with which a record's bytes can be read: the upper bound of
    /// ``fieldsPerRecord``.
    public static let readableFieldsPerRecord = 4_096
}
