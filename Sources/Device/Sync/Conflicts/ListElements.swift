import StratusRecords

/// An element of a list: its value, and its number among elements of equal value.
struct ListElement: Hashable {
    var value: FieldValue
    var occurrence: Int

    /// The maximum number of removed elements of one value that are distinguished.
    static let removedLimit = 32
    /// The distance between the positions of neighbours that were never moved.
    static let gap: Int64 = 1 << 32

    /// The elements of a list in order; nil when the value is not a list. The elements of a set are
    /// unique.
    ///
    /// An element keeps its number while it is in the list: the field of times has a time for each.
    static func all(
        of value: FieldValue?, in list: String, _ rule: FieldRule, _ times: FieldTimes
    ) -> [ListElement]? {
        guard let value else { return [] }
        guard let values = value.elements else { return nil }
        if rule == .set {
            var known: Set<FieldValue> = []
            return values.filter { known.insert($0).inserted }
                .map { ListElement(value: $0, occurrence: 1) }
        }
        var counts: [FieldValue: Int] = [:]
        for value in values { counts[value, default: 0] += 1 }
        var elements = counts.mapValues { _ in ArraySlice<ListElement>() }
        for (value, count) in counts { elements[value] = numbered(value, count, list, times)[...] }
        return values.compactMap { elements[$0]?.popFirst() }
    }

    /// The elements of one value: first those with a time, by their positions, then the others.
    private static func numbered(
        _ value: FieldValue, _ count: Int, _ list: String, _ times: FieldTimes
    ) -> [ListElement] {
        let candidates = (1...count + removedLimit).map {
            ListElement(value: value, occurrence: $0)
        }
        let known = candidates.filter { times.milliseconds(of: $0.field(of: list), "") != nil }
            .map { ($0, times.milliseconds(of: $0.place(in: list), "") ?? 0) }
            .sorted { ($0.1, $0.0.occurrence) < ($1.1, $1.0.occurrence) }
            .prefix(count).map(\.0)
        let others = candidates.lazy.filter { !known.contains($0) }
        return known + others.prefix(count - known.count)
    }

    /// The field that represents the element in the field of times while it is in the list.
    func field(of list: String) -> Field {
        Field(name: "\u{2}\(list)\u{2}\(occurrence)", value: value)
    }

    /// The name that represents the element in the field of times after it was removed.
    func removedName(of list: String) -> String {
        "\u{2}\(list)\u{2}\(occurrence)\u{2}\(field(of: list).digest)"
    }

    /// The field that represents the element's position in the field of times.
    func place(in list: String) -> Field {
        Field(name: "\u{3}\(list)\u{3}\(occurrence)", value: value)
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

extension FieldValue {
    /// The elements of a list as single values; nil if this is not a list.
    var elements: [FieldValue]? {
        switch self {
        case .stringList(let list): list.map { .string($0) }
        case .int64List(let list): list.map { .int64($0) }
        case .doubleList(let list): list.map { .double($0) }
        case .timestampList(let list, let exact):
            list.indices.map {
                .timestamp(milliseconds: list[$0], exactSeconds: exact?[$0])
            }
        case .bytesList(let list): list.map { .bytes($0) }
        case .locationList(let list): list.map { .location($0) }
        case .referenceList(let list): list.map { .reference($0) }
        case .assetList(let list): list.map { .asset($0) }
        case .emptyList: []
        default: nil
        }
    }

    /// The list of these elements; nil if their types differ.
    static func list(_ elements: [FieldValue]) -> FieldValue? {
        func all<Value>(_ pick: (FieldValue) -> Value?) -> [Value]? {
            let values = elements.compactMap(pick)
            return values.count == elements.count ? values : nil
        }
        switch elements.first {
        case nil: return .emptyList
        case .string:
            return all { if case .string(let x) = $0 { x } else { nil } }.map { .stringList($0) }
        case .int64:
            return all { if case .int64(let x) = $0 { x } else { nil } }.map { .int64List($0) }
        case .double:
            return all { if case .double(let x) = $0 { x } else { nil } }.map { .doubleList($0) }
        case .bytes:
            return all { if case .bytes(let x) = $0 { x } else { nil } }.map { .bytesList($0) }
        case .location:
            return all { if case .location(let x) = $0 { x } else { nil } }.map {
                .locationList($0)
            }
        case .reference:
            return all { if case .reference(let x) = $0 { x } else { nil } }
                .map { .referenceList($0) }
        case .asset:
            return all { if case .asset(let x) = $0 { x } else { nil } }.map { .assetList($0) }
        case .timestamp:
            let dates: [(Int64, Double?)]? = all {
                if case .timestamp(let x, let exact) = $0 { (x, exact) } else { nil }
            }
            guard let dates else { return nil }
            let exact = dates.compactMap(\.1)
            return .timestampList(
                milliseconds: dates.map(\.0),
                exactSeconds: exact.count == dates.count ? exact : nil)
        default: return nil
        }
    }
}
