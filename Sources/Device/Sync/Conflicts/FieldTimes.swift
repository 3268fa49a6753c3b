import StratusRecords

/// When each field of a record was last edited, in milliseconds since 1970. It is stored in one
/// field of the record: a STRING of about nine characters for each time and five for each field.
///
/// A time belongs to a value: it is found by five characters that are a hash of the field's name
/// and value. So if an app without this feature overwrites a value, the old time does not apply to
/// the new one. Encrypted fields are found by their name alone, because the service can read the
/// text.
///
/// ```text
/// 1;mq3k0w8x:k3F_aP0c9d;mq3k1a00:Zz01b;mq3k2b11!9dk3F
/// ```
///
/// After the version, groups of a time in base 36, then of values (`:`) or of fields that were removed
/// (`!`).
public struct FieldTimes: Hashable, Sendable {
    private var values: [UInt32: Int64] = [:]
    private var removals: [UInt32: Int64] = [:]

    /// The maximum number of removed fields; the oldest are dropped.
    static let removalLimit = 32
    private static let version = "1"
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let markLength = 5
    /// The range of times that are accepted. Any participant of a shared record can write its times; a time that would
    /// overflow a calculation counts as none.
    private static let known: Range<Int64> = (-1 << 60)..<(1 << 60)
    private static let parentName = "\u{1}parent"
    private static let recreated = Field(name: "\u{1}madeAnew", value: .int64(1))

    /// Makes an empty value: no field has a time.
    public init() {}

    /// Reads a field of times; an unreadable one has no times.
    public init(_ value: FieldValue?) {
        guard case .string(let text) = value else { return }
        let groups = text.utf8.split(separator: UInt8(ascii: ";"))
        guard let version = groups.first, version.elementsEqual(Self.version.utf8) else { return }
        for group in groups.dropFirst() {
            guard
                let end = group.firstIndex(where: {
                    $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "!")
                }), let time = Int64(String(decoding: group[..<end], as: UTF8.self), radix: 36),
                Self.known.contains(time)
            else { continue }
            let isRemoval = group[end] == UInt8(ascii: "!")
            var rest = group[group.index(after: end)...]
            while let mark = Self.mark(rest.prefix(Self.markLength)) {
                rest = rest.dropFirst(Self.markLength)
                if isRemoval { removals[mark] = time } else { values[mark] = time }
            }
        }
    }

    /// The field's value; nil when no time is known.
    public var value: FieldValue? {
        guard !values.isEmpty || !removals.isEmpty else { return nil }
        var text = Self.version
        let newest = removals.sorted { ($0.value, $0.key) > ($1.value, $1.key) }
            .prefix(Self.removalLimit)
        text += Self.text(values.map { ($0.key, $0.value) }, ":")
        text += Self.text(newest.map { ($0.key, $0.value) }, "!")
        return .string(text)
    }

    /// The time of the last edit; nil when none is known.
    package var newestMilliseconds: Int64? {
        (Array(values.values) + Array(removals.values)).max()
    }

    /// When the record was created with the name of a deleted one; nil for the first of its name.
    ///
    /// Of two records of one name, the one that was created last wins, without fields of the other.
    package var recreatedMilliseconds: Int64? {
        get { values[Self.mark(of: Self.recreated)] }
        set { values[Self.mark(of: Self.recreated)] = newValue }
    }

    /// When a field got its value, or was removed.
    package func milliseconds(of field: Field?, _ name: String) -> Int64? {
        if let field, field.value != nil { return values[Self.mark(of: field)] }
        return removals[Self.mark(ofName: name)]
    }

    func milliseconds(ofParent name: String?) -> Int64? {
        milliseconds(of: Self.parentField(name), Self.parentName)
    }

    mutating func set(_ field: Field?, _ name: String, milliseconds: Int64) {
        if let field, field.value != nil {
            values[Self.mark(of: field)] = milliseconds
        } else {
            removals[Self.mark(ofName: name)] = milliseconds
        }
    }

    mutating func setParent(_ name: String?, milliseconds: Int64) {
        set(Self.parentField(name), Self.parentName, milliseconds: milliseconds)
    }

    /// Adds another record's times of removed fields, except for fields that exist here.
    mutating func takeRemovals(of other: FieldTimes, butFor fields: [Field]) {
        let there = Set(fields.map { Self.mark(ofName: $0.name) })
        for (mark, time) in other.removals where !there.contains(mark) {
            removals[mark] = max(removals[mark] ?? .min, time)
        }
    }

    func shifted(by milliseconds: Int64, butFor kept: [Field]) -> FieldTimes {
        let kept = Set(kept.map { Self.mark(of: $0) })
        var shifted = self
        for (mark, time) in values where !kept.contains(mark) {
            shifted.values[mark] = time &+ milliseconds
        }
        shifted.removals = removals.mapValues { $0 &+ milliseconds }
        return shifted
    }

    /// Keeps the time of a value whose form has changed.
    fileprivate mutating func move(_ old: Field, to new: Field) {
        guard let time = values.removeValue(forKey: Self.mark(of: old)) else { return }
        values[Self.mark(of: new)] = time
    }

    static func parentField(_ name: String?) -> Field? {
        name.map { Field(name: parentName, value: .string($0)) }
    }

    // MARK: Marks

    private static func mark(of field: Field) -> UInt32 {
        field.isEncrypted ? mark(ofName: field.name) : UInt32(field.digest >> 34)
    }

    private static func mark(ofName name: String) -> UInt32 {
        UInt32(Field(name: name, value: nil).digest >> 34)
    }

    private static func mark(_ text: some Collection<UInt8>) -> UInt32? {
        guard text.count == markLength else { return nil }
        var mark: UInt32 = 0
        for letter in text {
            guard let digit = alphabet.firstIndex(of: letter) else { return nil }
            mark = mark << 6 | UInt32(digit)
        }
        return mark
    }

    private static func text(_ times: [(mark: UInt32, time: Int64)], _ sign: String) -> String {
        let groups = Dictionary(grouping: times) { $0.time }.sorted { $0.key < $1.key }
        return groups.map { time, marks in
            let letters = marks.map(\.mark).sorted().flatMap { mark in
                (0..<markLength).reversed().map { alphabet[Int(mark >> ($0 * 6) & 63)] }
            }
            return ";" + String(time, radix: 36) + sign + String(decoding: letters, as: UTF8.self)
        }.joined()
    }

    /// An order of values that is the same on all devices.
    ///
    /// A file that was not uploaded yet comes before every other value, so that it loses and is never uploaded: the
    /// upload would give it another value, which other devices would compare with a different result.
    static func isOrdered(_ one: FieldValue, _ other: FieldValue) -> Bool {
        let isLocal = one.assets.contains(where: \.isLocal)
        if isLocal != other.assets.contains(where: \.isLocal) { return isLocal }
        if case .string(let one) = one, case .string(let other) = other {
            return one.utf8.lexicographicallyPrecedes(other.utf8)
        }
        let (first, second) = (
            Field(name: "", value: one).digest, Field(name: "", value: other).digest
        )
        return first < second
    }
}

extension RecordSnapshot {
    /// Keeps the times of files whose value changed by their upload.
    ///
    /// - Parameters:
    ///   - key: the field of times.
    ///   - old: the record before, which differs only in the values of files.
    package mutating func carryFieldTimes(in key: String, from old: RecordSnapshot) {
        var times = FieldTimes(self[key])
        for field in fields {
            guard let before = old.field(field.name), before != field else { continue }
            times.move(before, to: field)
            let elements = zip(before.value?.elements ?? [], field.value?.elements ?? [])
            for (one, other) in elements where one != other {
                for occurrence in 1...elements.underestimatedCount + ListElement.removedLimit {
                    let (one, other) = (
                        ListElement(value: one, occurrence: occurrence),
                        ListElement(value: other, occurrence: occurrence)
                    )
                    times.move(one.field(of: field.name), to: other.field(of: field.name))
                    times.move(one.place(in: field.name), to: other.place(in: field.name))
                }
            }
        }
        self[key] = times.value
    }

    /// Shifts all times, after a correction of the device's clock; counts and positions in lists
    /// stay.
    package mutating func shiftFieldTimes(
        in key: String, by milliseconds: Int64, rules: [String: FieldRule] = [:]
    ) {
        let times = FieldTimes(self[key])
        var kept: [Field] = []
        for field in fields {
            switch rules[field.name] {
            case .editCount: kept.append(field)
            case .sequence:
                let elements = ListElement.all(of: field.value, in: field.name, .sequence, times)
                kept += (elements ?? []).map { $0.place(in: field.name) }
            default: break
            }
        }
        self[key] = times.shifted(by: milliseconds, butFor: kept).value
    }
}
