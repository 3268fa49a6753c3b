import StratusRecords

/// When each field of a record was last edited, in milliseconds since 1970, as it travels in one field of
/// the record: a STRING of about nine characters for each time and five for each field.
///
/// A time stands for a value: it is found by five characters made of the field's name and value, so
/// that the time of a value which an app overwrote that knows nothing of this is not taken for the new
/// value's. What is encrypted is found by its name alone, as the service reads the text.
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

    /// How many removed fields a record remembers; the oldest give way.
    static let removalLimit = 32
    private static let version = "1"
    private static let alphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    private static let markLength = 5
    private static let parentName = "\u{1}parent"
    private static let madeAnew = Field(name: "\u{1}madeAnew", value: .int64(1))

    public init() {}

    /// Reads a field of times; what cannot be read has none.
    public init(_ value: FieldValue?) {
        guard case .string(let text) = value else { return }
        let groups = text.utf8.split(separator: UInt8(ascii: ";"))
        guard let version = groups.first, version.elementsEqual(Self.version.utf8) else { return }
        for group in groups.dropFirst() {
            guard
                let end = group.firstIndex(where: {
                    $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "!")
                }), let time = Int64(String(decoding: group[..<end], as: UTF8.self), radix: 36)
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

    /// When the record was made anew under the name of one that was deleted; nil of the first of its name.
    ///
    /// Of two records of one name the one that was made last has no field of the other.
    package var madeAnewMilliseconds: Int64? {
        get { values[Self.mark(of: Self.madeAnew)] }
        set { values[Self.mark(of: Self.madeAnew)] = newValue }
    }

    /// When a field got the value that it has, or was removed.
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

    /// Takes over what another record's times say of removed fields, but for those that are there.
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
            shifted.values[mark] = time + milliseconds
        }
        shifted.removals = removals.mapValues { $0 + milliseconds }
        return shifted
    }

    /// A value has another form than before, and the time that it had.
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

    /// An order of values that is the same on every device.
    static func isOrdered(_ one: FieldValue, _ other: FieldValue) -> Bool {
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
    /// Keeps the times of files that have another value since they were uploaded: they are the same files.
    ///
    /// - Parameters:
    ///   - key: the field of times.
    ///   - old: the record before, which differs in the values of files alone.
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

    /// Notes in a field when each of the others was edited, and keeps when the record was made anew.
    ///
    /// Every edit is later than the one it was made over, also when clocks disagree. What has no time yet
    /// gets the service's modification date, as it will be another after the next save.
    /// - Parameters:
    ///   - key: the field of times.
    ///   - old: the record before the edit; nil when it is new.
    ///   - now: the time of the edit, in milliseconds since 1970.
    ///   - rules: of fields whose edits are counted, or noted element by element.
    package mutating func stampFieldTimes(
        in key: String, over old: RecordSnapshot?, at now: Int64, rules: [String: FieldRule] = [:]
    ) {
        let known = FieldTimes(old?[key])
        var times = FieldTimes()
        let modified = old?.system?.modifiedMilliseconds
        func stamp(_ new: Field?, _ old: Field?, _ name: String) {
            let rule = rules[name] ?? .editDate
            if rule == .editCount {
                let count = known.milliseconds(of: old, name) ?? 0
                times.set(new, name, milliseconds: new == old ? count : count + 1)
                return
            }
            if rule == .set || rule == .sequence, new?.isEncrypted != true,
                old?.isEncrypted != true
            {
                times.stampList(
                    name, rule, from: old?.value, to: new?.value, known: known, at: now)
            }
            let before = known.milliseconds(of: old, name) ?? (old == nil ? nil : modified)
            if new == old {
                if let before { times.set(new, name, milliseconds: before) }
            } else {
                let last = before.map { $0 == .max ? .max : $0 + 1 } ?? .min
                times.set(new, name, milliseconds: max(now, last))
            }
        }
        let names = Set((fields + (old?.fields ?? [])).map(\.name)).subtracting([key])
        for name in names { stamp(field(name), old?.field(name), name) }
        stamp(
            FieldTimes.parentField(parentRecordName),
            old.flatMap { FieldTimes.parentField($0.parentRecordName) },
            FieldTimes.parentField("")?.name ?? "")
        times.takeRemovals(of: known, butFor: fields)
        times.madeAnewMilliseconds = known.madeAnewMilliseconds
        self[key] = times.value
    }

    /// Notes that the record is another than the deleted one of its name: later than all that is known of that.
    package mutating func stampMakingAnew(
        in key: String, after deleted: RecordSnapshot?, at now: Int64
    ) {
        var times = FieldTimes(self[key])
        let last = FieldTimes(deleted?[key]).madeAnewMilliseconds
        times.madeAnewMilliseconds = max(now, last.map { $0 == .max ? .max : $0 + 1 } ?? .min)
        self[key] = times.value
    }

    /// Moves all times, of a device that learns how its clock goes; not what is counted, nor places in lists.
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
