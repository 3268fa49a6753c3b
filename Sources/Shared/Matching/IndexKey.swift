import StratusRecords

/// The bytes of a value in an index and in a sort: their order is the order of the values.
///
/// The key of a record without a value is empty. Every other begins with the byte 1, then: whole numbers
/// and dates big-endian with the sign flipped; floating-point numbers as their bits, flipped so that
/// negative ones come first (−0 is 0, NaN comes last); text as NFC in UTF-8; a reference as name, 0, zone.
/// Only the first ``maximumBytes`` of text and bytes are in the key: longer values are compared again on the record
/// itself.
package enum IndexKey {
    /// The most bytes of text in an index and in an order.
    package static let maximumBytes = 512
    /// The key of a record without a value.
    package static let missing: [UInt8] = []
    /// Before every value's key, after the missing one.
    package static let first: [UInt8] = [1]
    /// After every key.
    package static let last: [UInt8] = [0xFF]

    /// The key of a scalar; nil for values without an order: locations, assets and lists.
    package static func bytes(of value: FieldValue) -> [UInt8]? {
        switch value {
        case .int64(let number), .timestamp(let number, _): bytes(of: number)
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

    /// The first bytes of the keys of all references to records with a name.
    package static func bytes(ofName name: String) -> [UInt8] {
        counted(Array(name.utf8) + [0])
    }

    /// The first bytes of the keys of all records with one value in a compound index; nil for a value without a key.
    ///
    /// They begin with their own length, so that no value's bytes are the beginning of another's. A reference counts by
    /// its record's name.
    package static func group(of value: FieldValue) -> [UInt8]? {
        if case .reference(let reference) = value { return group(ofName: reference.recordName) }
        return bytes(of: value).map(group)
    }

    package static func group(ofName name: String) -> [UInt8] {
        group(counted(Array(name.utf8)))
    }

    private static func group(_ key: [UInt8]) -> [UInt8] {
        [UInt8(key.count >> 8), UInt8(key.count & 0xFF)] + key
    }

    /// The record's name in the key of a reference.
    package static func name(in key: [UInt8]) -> String {
        String(decoding: key.dropFirst().prefix { $0 != 0 }, as: UTF8.self)
    }

    package static func bytes(of number: Double) -> [UInt8] {
        let bits = number.isNaN ? Double.nan.bitPattern : (number == 0 ? 0 : number).bitPattern
        return bytes(ofBits: bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
    }

    /// The number with this key; nil for other keys.
    package static func double(in key: [UInt8]) -> Double? {
        guard key.count == 9 else { return nil }
        let bits = key.dropFirst().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        return Double(bitPattern: bits >> 63 == 1 ? bits & ~(1 << 63) : ~bits)
    }

    package static func bytes(ofBits bits: UInt64) -> [UInt8] {
        var key = first
        key.reserveCapacity(9)
        for shift in stride(from: 56, through: 0, by: -8) {
            key.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
        }
        return key
    }

    package static func counted(_ bytes: [UInt8]) -> [UInt8] {
        first + bytes.prefix(maximumBytes)
    }

    private static func bytes(of number: Int64) -> [UInt8] {
        bytes(ofBits: UInt64(bitPattern: number) ^ 1 << 63)
    }
}
