import StratusRecords

/// The bytes of a value in an index, whose order is the order of values.
///
/// The key of a record without a value is empty. Every other begins with the byte 1, then: whole numbers
/// and dates big-endian with the sign flipped; floating-point numbers as their bits, flipped so that
/// negative ones come first (−0 is 0, NaN comes last); text as NFC in UTF-8; a reference as name, 0, zone.
/// Text and bytes count up to ``maximumBytes``: what is longer is compared again on the record itself.
enum IndexKey {
    /// Bytes of text that count in an index and in an order.
    static let maximumBytes = 512
    /// The key of a record without a value.
    static let missing: [UInt8] = []
    /// Before every value's key, after the missing one.
    static let first: [UInt8] = [1]
    /// After every key.
    static let last: [UInt8] = [0xFF]

    /// The key of a scalar; nil for what has no order of its own: places, assets and lists.
    static func bytes(of value: FieldValue) -> [UInt8]? {
        switch value {
        case .int64(let number), .timestamp(let number): bytes(of: number)
        case .double(let number): bytes(of: number)
        case .string(let text): counted(NormalisedText.utf8(text))
        case .bytes(let bytes): counted(bytes)
        case .reference(let reference):
            counted(
                Array(reference.recordName.utf8) + [0]
                    + Array((reference.zoneID?.name ?? "").utf8))
        default: nil
        }
    }

    /// What the keys of all references to records of a name begin with.
    static func bytes(ofName name: String) -> [UInt8] {
        counted(Array(name.utf8) + [0])
    }

    /// The record's name in the key of a reference.
    static func name(in key: [UInt8]) -> String {
        String(decoding: key.dropFirst().prefix { $0 != 0 }, as: UTF8.self)
    }

    static func bytes(of number: Double) -> [UInt8] {
        let bits = number.isNaN ? Double.nan.bitPattern : (number == 0 ? 0 : number).bitPattern
        return bytes(ofBits: bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
    }

    /// The number whose key this is; nil for other keys.
    static func double(in key: [UInt8]) -> Double? {
        guard key.count == 9 else { return nil }
        let bits = key.dropFirst().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(bitPattern: bits >> 63 == 1 ? bits & ~(1 << 63) : ~bits)
    }

    static func bytes(ofBits bits: UInt64) -> [UInt8] {
        var key = first
        key.reserveCapacity(9)
        for shift in stride(from: 56, through: 0, by: -8) {
            key.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
        }
        return key
    }

    static func counted(_ bytes: [UInt8]) -> [UInt8] {
        first + bytes.prefix(maximumBytes)
    }

    private static func bytes(of number: Int64) -> [UInt8] {
        bytes(ofBits: UInt64(bitPattern: number) ^ 1 << 63)
    }
}

/// A stretch of keys: from one, included, to another, left out.
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
    /// The ranges in order, where they overlap as one.
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

    /// What lies in a range of both. Both are in order and do not overlap.
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

    /// Whether a key lies in one of the ranges, which are in order and do not overlap.
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
