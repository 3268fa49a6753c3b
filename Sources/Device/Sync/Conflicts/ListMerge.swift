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
        let basePlaces = ListElement.places(of: base, name, times)
        let ownPlaces = ListElement.places(of: elements, name, times)
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
}
