import StratusMatching
import StratusStorage

/// A range of keys: from one, included, to another, excluded.
struct KeyRange: Hashable, Sendable {
    var lower: [UInt8]
    var upper: [UInt8]

    /// The missing value too.
    static let all = KeyRange(lower: IndexKey.missing, upper: IndexKey.last)
    /// Every value.
    static let values = KeyRange(lower: IndexKey.first, upper: IndexKey.last)

    static func only(_ key: [UInt8]) -> KeyRange {
        KeyRange(lower: key, upper: successor(of: key))
    }

    /// The keys that begin with bytes.
    static func beginning(with prefix: [UInt8]) -> KeyRange {
        KeyRange(lower: prefix, upper: end(of: prefix))
    }

    /// The first key after one.
    static func successor(of key: [UInt8]) -> [UInt8] { key + [0] }

    /// The first key after all that begin with bytes.
    private static func end(of prefix: [UInt8]) -> [UInt8] {
        var end = prefix
        while let byte = end.popLast() {
            if byte < 0xFF {
                end.append(byte + 1)
                return end
            }
        }
        return IndexKey.last
    }

    var isEmpty: Bool { !lower.lexicographicallyPrecedes(upper) }

    func contains(_ key: [UInt8]) -> Bool {
        !key.lexicographicallyPrecedes(lower) && key.lexicographicallyPrecedes(upper)
    }

    func intersection(_ other: KeyRange) -> KeyRange {
        KeyRange(
            lower: lower.lexicographicallyPrecedes(other.lower) ? other.lower : lower,
            upper: upper.lexicographicallyPrecedes(other.upper) ? upper : other.upper)
    }
}

extension [KeyRange] {
    /// The ranges, sorted; those that overlap are merged.
    var joined: [KeyRange] {
        var joined: [KeyRange] = []
        for range in sorted(by: { $0.lower.lexicographicallyPrecedes($1.lower) })
        where !range.isEmpty {
            if let last = joined.last, !last.upper.lexicographicallyPrecedes(range.lower) {
                if last.upper.lexicographicallyPrecedes(range.upper) {
                    joined[joined.count - 1].upper = range.upper
                }
            } else {
                joined.append(range)
            }
        }
        return joined
    }

    /// The parts that lie in ranges of both. The ranges of each are sorted and do not overlap.
    func intersection(_ others: [KeyRange]) -> [KeyRange] {
        var found: [KeyRange] = []
        var (index, other) = (0, 0)
        while index < count, other < others.count {
            let range = self[index].intersection(others[other])
            if !range.isEmpty { found.append(range) }
            if self[index].upper.lexicographicallyPrecedes(others[other].upper) {
                index += 1
            } else {
                other += 1
            }
        }
        return found
    }

    /// Whether a key lies in one of the ranges, which are sorted and do not overlap.
    func contains(_ key: [UInt8]) -> Bool {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].contains(key) { return true }
            if key.lexicographicallyPrecedes(self[middle].lower) {
                high = middle
            } else {
                low = middle + 1
            }
        }
        return false
    }
}

extension KeyRange {
    /// The range's entries lie strictly between these two: no record has an empty name.
    var bounds: (IndexEntry, IndexEntry) {
        (IndexEntry(key: lower, name: ""), IndexEntry(key: upper, name: ""))
    }
}

extension IndexEntry {
    /// The entry lies strictly between these two, and no other does. Its name is not empty.
    package var bounds: (IndexEntry, IndexEntry) {
        // Names are printable ASCII: none lies between this and the name.
        let before =
            String(decoding: name.utf8.dropLast(), as: UTF8.self)
            + String(decoding: [(name.utf8.last ?? 1) - 1, 0x7F], as: UTF8.self)
        return (IndexEntry(key: key, name: before), IndexEntry(key: key, name: name + "\u{0}"))
    }
}

extension IndexReader {
    /// How many entries a range of keys has; counting ends at `limit`.
    func entryCount(
        of index: IndexRow.Key, in zone: ZoneRow.Key, within range: KeyRange, limit: Int
    ) throws -> Int {
        try entryCount(of: index, in: zone, between: range.bounds, limit: limit)
    }
}
