/// Keys in the order in which they were appended, which can also be removed from the middle: a doubly linked list in a
/// dictionary. Every operation takes constant time.
struct UseOrder<Key: Hashable> {
    private struct Neighbours {
        var before: Key?
        var after: Key?
    }

    private var neighbours: [Key: Neighbours] = [:]
    private(set) var first: Key?
    private var last: Key?

    /// Moves a key to the end, or appends it.
    mutating func append(_ key: Key) {
        remove(key)
        neighbours[key] = Neighbours(before: last, after: nil)
        if let last { neighbours[last]?.after = key } else { first = key }
        last = key
    }

    mutating func remove(_ key: Key) {
        guard let place = neighbours.removeValue(forKey: key) else { return }
        if let before = place.before { neighbours[before]?.after = place.after }
        if let after = place.after { neighbours[after]?.before = place.before }
        if first == key { first = place.after }
        if last == key { last = place.before }
    }
}
