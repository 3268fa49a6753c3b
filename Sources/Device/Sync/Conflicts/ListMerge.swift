import StratusRecords

/// Merges two devices' edits of one list: the last edit of each element decides whether it is in
/// the list and, in a sequence, its position.
///
/// An element's time and, in a sequence, the number of its position are in the field of times. For
/// edits of an app without this feature, a comparison with the ancestor shows what was added and
/// removed. Encrypted lists have no times, because these would reveal information about the
/// elements.
struct ListMerge {
    let name: String
    let isSequence: Bool
    let client: ListSide
    let server: ListSide

    /// Nil when either side is not a list.
    init?(
        _ name: String, rule: FieldRule, _ conflict: SyncConflict, ancestor: FieldTimes,
        client: FieldTimes, server: FieldTimes
    ) {
        guard rule == .set || rule == .sequence,
            let base = ListElement.all(of: conflict.ancestor?[name], in: name, rule, ancestor),
            let mine = ListElement.all(of: conflict.client[name], in: name, rule, client),
            let theirs = ListElement.all(of: conflict.server[name], in: name, rule, server)
        else { return nil }
        self.name = name
        isSequence = rule == .sequence
        self.client = ListSide(
            name, mine, base, client, editedMilliseconds: conflict.clientEditedMilliseconds)
        self.server = ListSide(
            name, theirs, base, server,
            editedMilliseconds: conflict.server.system?.modifiedMilliseconds ?? 0)
    }

    /// The merged elements in order; adds their times.
    func merged(_ times: inout FieldTimes, areTimesKept: Bool) -> [FieldValue] {
        var kept: [(element: ListElement, added: Int64, place: Int64)] = []
        for element in Set(client.added.keys).union(server.added.keys) {
            let mine = client.added[element]
            let theirs = server.added[element]
            if let mine, let theirs {
                let later = mine == theirs ? nil : mine > theirs ? client : server
                let place =
                    later?.place(element) ?? max(client.place(element), server.place(element))
                kept.append((element, max(mine, theirs), place))
                continue
            }
            let (side, other) = mine == nil ? (server, client) : (client, server)
            let added = side.added[element] ?? 0
            if let removed = other.removal(of: element), removed > added {
                if areTimesKept {
                    times.set(nil, element.removedName(of: name), milliseconds: removed)
                }
            } else {
                kept.append((element, added, side.place(element)))
            }
        }
        kept.sort {
            if isSequence, $0.place != $1.place { return $0.place < $1.place }
            if $0.added != $1.added { return $0.added < $1.added }
            if $0.element.value != $1.element.value {
                return FieldTimes.isOrdered($0.element.value, $1.element.value)
            }
            return $0.element.occurrence < $1.element.occurrence
        }
        guard areTimesKept else { return kept.map(\.element.value) }
        for (element, added, place) in kept {
            let field = element.field(of: name)
            times.set(field, field.name, milliseconds: added)
            guard isSequence else { continue }
            let mark = element.place(in: name)
            times.set(mark, mark.name, milliseconds: place)
        }
        return kept.map(\.element.value)
    }
}

/// One device's list, with the time and position of each element.
struct ListSide {
    /// The distance between neighbours that were never moved.
    static let gap: Int64 = 1 << 32

    let name: String
    var added: [ListElement: Int64] = [:]
    private var places: [ListElement: Int64] = [:]
    private let times: FieldTimes
    private let base: Set<ListElement>
    private let editedMilliseconds: Int64

    init(
        _ name: String, _ elements: [ListElement], _ base: [ListElement], _ times: FieldTimes,
        editedMilliseconds: Int64
    ) {
        self.name = name
        self.times = times
        self.base = Set(base)
        self.editedMilliseconds = editedMilliseconds
        let basePlaces = Self.places(of: base, name, times)
        let ownPlaces = Self.places(of: elements, name, times)
        for element in elements {
            let field = element.field(of: name)
            added[element] =
                times.milliseconds(of: field, field.name)
                ?? (self.base.contains(element) ? 0 : editedMilliseconds)
            places[element] =
                times.milliseconds(of: element.place(in: name), "") ?? basePlaces[element]
                ?? ownPlaces[element]
        }
    }

    func place(_ element: ListElement) -> Int64 { places[element] ?? 0 }

    /// When a missing element was removed; nil if it was never in the list.
    func removal(of element: ListElement) -> Int64? {
        times.milliseconds(of: nil, element.removedName(of: name))
            ?? (base.contains(element) ? editedMilliseconds : nil)
    }

    /// The positions of elements: the known ones, the others by their order.
    static func places(
        of elements: [ListElement], _ list: String, _ times: FieldTimes
    ) -> [ListElement: Int64] {
        var places: [ListElement: Int64] = [:]
        for (index, element) in elements.enumerated() {
            places[element] =
                times.milliseconds(of: element.place(in: list), "")
                ?? Int64(index + 1) * gap
        }
        return places
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
        let places = rule == .sequence ? ListSide.places(of: old, name, known) : [:]
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
            let low = last ?? (next ?? (room * ListSide.gap)) - room * ListSide.gap
            let high = next ?? low + room * ListSide.gap
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
