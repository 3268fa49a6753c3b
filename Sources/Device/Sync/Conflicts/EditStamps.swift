import StratusRecords

/// Fields that the cache sets with every edit, for a resolver that compares them.
public struct EditStamps: Hashable, Sendable {
    /// A TIMESTAMP: when the record was last edited.
    public var dateKey: String?
    /// An INT64: how often the record was edited, beginning with 1.
    public var countKey: String?

    /// Names the fields that the cache sets; nil means that it sets no such field.
    public init(dateKey: String? = nil, countKey: String? = nil) {
        self.dateKey = dateKey
        self.countKey = countKey
    }
}

/// The defaults for resolvers that need nothing from the cache.
extension ConflictResolver {
    /// Nil: the cache writes no field of times.
    public var fieldTimesKey: String? { nil }
    /// Empty: no field has a rule of its own.
    public var fieldRules: [String: FieldRule] { [:] }
    /// No stamps: the cache sets no field with an edit.
    public var editStamps: EditStamps { EditStamps() }

    /// Accepts the deletion: the record stays deleted.
    public func resolveDeletion(
        of client: RecordSnapshot, clientEditedMilliseconds: Int64
    ) -> DeletionResolution {
        .acceptDeletion
    }
}

extension RecordSnapshot {
    /// Sets the times of edited fields, and keeps the time at which the record was created again.
    ///
    /// Every edit is later than the one before it, even if clocks disagree. A field without a time
    /// gets the service's modification date, because that changes with the next save.
    /// - Parameters:
    ///   - key: the field of times.
    ///   - old: the record before the edit; nil when it is new.
    ///   - now: the time of the edit, in milliseconds since 1970.
    ///   - rules: the rules of fields whose edits are counted, or recorded for each element.
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
        times.recreatedMilliseconds = known.recreatedMilliseconds
        self[key] = times.value
    }

    /// Sets the times of fields that a migration changed: they are not edits, so a value of unknown age gets no time.
    ///
    /// - Parameter time: when the values that the migration read were edited, in milliseconds since 1970; nil if
    ///   unknown.
    package mutating func stampMigration(
        in key: String, over old: RecordSnapshot, at time: Int64?, rules: [String: FieldRule] = [:]
    ) {
        let known = FieldTimes(old[key])
        var times = known
        let names = Set((fields + old.fields).map(\.name)).subtracting([key])
        for name in names where field(name) != old.field(name) {
            let (new, former, rule) = (field(name), old.field(name), rules[name] ?? .editDate)
            let before = known.milliseconds(of: former, name)
            if rule == .editCount {
                times.set(new, name, milliseconds: (before ?? 0) + 1)
                continue
            }
            guard let time else { continue }
            if rule == .set || rule == .sequence, new?.isEncrypted != true,
                former?.isEncrypted != true
            {
                times.stampList(
                    name, rule, from: former?.value, to: new?.value, known: known, at: time)
            }
            times.set(new, name, milliseconds: max(time, before.map { $0 + 1 } ?? .min))
        }
        if times != known { self[key] = times.value }
    }

    /// Marks the record as a new one with the name of a deleted record, at a time later than the times of that record
    /// and of known former ones.
    ///
    /// - Parameter former: when the last deleted one was created again, in milliseconds; nil for the first of its name.
    package mutating func stampRecreation(
        in key: String, after deleted: RecordSnapshot?, former: Int64? = nil, at now: Int64
    ) {
        var times = FieldTimes(self[key])
        let last = [FieldTimes(deleted?[key]).recreatedMilliseconds, former]
            .compactMap(\.self).max()
        times.recreatedMilliseconds = max(now, last.map { $0 == .max ? .max : $0 + 1 } ?? .min)
        self[key] = times.value
    }

    /// Hashes of fields with the times at which they got their values. No other record of the same name has any of
    /// these hashes.
    ///
    /// - Parameter rules: fields with another rule than the time of the edit have none.
    package func marksOfTimes(in key: String, rules: [String: FieldRule] = [:]) -> [UInt64] {
        let times = FieldTimes(self[key])
        return fields.compactMap { field in
            guard rules[field.name] ?? .editDate == .editDate,
                let milliseconds = times.milliseconds(of: field, field.name)
            else { return nil }
            var digest = FieldDigest()
            digest.add(Int64(bitPattern: field.digest))
            digest.add(milliseconds)
            return digest.value
        }
    }
}

extension FieldTimes {
    /// Records an edit of a list: when each element was added or removed and, in a sequence, its
    /// position.
    mutating func stampList(
        _ name: String, _ rule: FieldRule, from old: FieldValue?, to new: FieldValue?,
        known: FieldTimes, at now: Int64
    ) {
        guard let old = ListElement.all(of: old, in: name, rule, known),
            let new = ListElement.all(of: new, in: name, rule, known)
        else { return }
        let change = new.difference(from: old)
        // A change of only the order does not change a set.
        var inserted: Set<ListElement> = []
        for case .insert(_, let element, _) in change.insertions { inserted.insert(element) }
        if rule == .set { inserted.subtract(old) }
        let places = rule == .sequence ? ListElement.places(of: old, name, known) : [:]
        if rule == .sequence {
            // Insertions of two devices may have the same position: giving one another position
            // moves it.
            var last: Int64?
            for element in new where !inserted.contains(element) {
                if let place = places[element], last.map({ place > $0 }) ?? true {
                    last = place
                } else {
                    inserted.insert(element)
                }
            }
        }
        for element in new {
            let field = element.field(of: name)
            let before = known.milliseconds(of: field, field.name)
            let gone = known.milliseconds(of: nil, element.removedName(of: name))
            guard inserted.contains(element) else {
                set(field, field.name, milliseconds: before ?? 0)
                continue
            }
            let last = max(before ?? .min, gone ?? .min)
            set(field, field.name, milliseconds: max(now, last == .max ? .max : last &+ 1))
        }
        for element in Set(old).subtracting(new) {
            let field = element.field(of: name)
            let before = known.milliseconds(of: field, field.name) ?? 0
            set(nil, element.removedName(of: name), milliseconds: max(now, before + 1))
        }
        guard rule == .sequence else { return }
        stampPlaces(name, of: new, inserted, places)
    }

    private mutating func stampPlaces(
        _ name: String, of elements: [ListElement], _ inserted: Set<ListElement>,
        _ known: [ListElement: Int64]
    ) {
        var last: Int64?
        var index = 0
        while index < elements.count {
            let run = elements[index...].prefix { inserted.contains($0) }
            let next = elements[(index + run.count)...].first.flatMap { known[$0] }
            let room = Int64(run.count + 1)
            let low = last ?? (next ?? (room * ListElement.gap)) - room * ListElement.gap
            let high = next ?? low + room * ListElement.gap
            let step = (high - low) / room
            for (offset, element) in run.enumerated() {
                let mark = element.place(in: name)
                set(mark, mark.name, milliseconds: low + step * Int64(offset + 1))
                last = low + step * Int64(offset + 1)
            }
            index += run.count
            guard index < elements.count, let place = next else { continue }
            let mark = elements[index].place(in: name)
            set(mark, mark.name, milliseconds: place)
            last = place
            index += 1
        }
    }
}
