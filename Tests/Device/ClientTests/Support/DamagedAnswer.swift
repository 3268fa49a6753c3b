import StratusTesting

/// A damaged answer; only the seed determines the damage.
struct DamagedAnswer {
    let bytes: [UInt8]
    /// Whether it is served as an error.
    let isRefusal: Bool

    init(undamaged answer: String) {
        bytes = Array(answer.utf8)
        isRefusal = false
    }

    /// - Parameter shape: The shape of the answer, the same for all seeds.
    init(_ answer: String, _ shape: JSONShape, seed: UInt64) {
        var numbers = SeededNumbers(seed: seed)
        isRefusal = numbers.next() % 8 == 0
        if numbers.next() % 3 == 0 {
            bytes = Self.bytes(Array(answer.utf8), &numbers)
        } else {
            var shape = shape
            for _ in 0...(numbers.next() % 3) { Self.damage(&shape, &numbers) }
            bytes = Array(shape.text.utf8)
        }
    }

    private static let leaves = [
        "null", "true", "false", "0", "-1", "1", "9223372036854775807", "-9223372036854775808",
        "9223372036854775808", "18446744073709551616", "1e308", "1e400", "-1e-400", "0.5", "1e3",
        "1E+18", "253402300800000", "\"\"", "\"_\"", "\"a\"", "\"\\u0000\"", "\"\\ud800\"",
        "\"AQ==\"", "\"A\"", "\"9\"", "\"STRING\"", "\"INT64\"", "\"TIMESTAMP_LIST\"",
        "\"ASSETID\"", "\"REFERENCE_LIST\"", "\"UNKNOWN_LIST\"", "\"cloudkit.share\"",
        "\"CONFLICT\"", "\"ATOMIC_ERROR\"", "\"RETRY\"", "\"http://[::1\"", "\"//\"", "[]", "{}",
        "[null]", "[[]]", "{\"value\":null}", "{\"value\":{\"value\":[{}]},\"type\":\"LOCATION\"}",
        "\"" + String(repeating: "x", count: 300) + "\"",
    ]

    private static let keys = [
        "recordName", "recordType", "fields", "value", "type", "isEncrypted", "zoneID", "deleted",
        "serverErrorCode", "stratusErrorCode", "reason", "retryAfter", "serverRecord", "share",
        "parent", "participants", "shortGUID", "syncToken", "moreComing", "",
    ]

    private static func damage(_ shape: inout JSONShape, _ numbers: inout SeededNumbers) {
        let place = Int(numbers.next() % UInt64(shape.count))
        var sub = numbers
        shape.change(place) { value in
            switch value {
            case .object(var members) where !members.isEmpty:
                let index = Int(sub.next() % UInt64(members.count))
                switch sub.next() % 5 {
                case 0: members.remove(at: index)
                case 1: members[index].key = keys.randomElement(using: &sub) ?? ""
                case 2: members.append(members[index])
                case 3:
                    members.append(
                        .init(key: keys.randomElement(using: &sub) ?? "", value: leaf(&sub)))
                default: members[index].value = leaf(&sub)
                }
                value = .object(members)
            case .array(var members) where !members.isEmpty:
                let index = Int(sub.next() % UInt64(members.count))
                switch sub.next() % 4 {
                case 0: members.remove(at: index)
                case 1: members.append(members[index])
                case 2: members[index] = leaf(&sub)
                default: members.swapAt(0, index)
                }
                value = .array(members)
            default: value = leaf(&sub)
            }
        }
        numbers = sub
    }

    private static func leaf(_ numbers: inout SeededNumbers) -> JSONShape {
        .leaf(leaves.randomElement(using: &numbers) ?? "null")
    }

    private static func bytes(_ answer: [UInt8], _ numbers: inout SeededNumbers) -> [UInt8] {
        var bytes = answer
        for _ in 0...(numbers.next() % 4) where !bytes.isEmpty {
            let place = Int(numbers.next() % UInt64(bytes.count))
            switch numbers.next() % 5 {
            case 0: bytes[place] = UInt8(truncatingIfNeeded: numbers.next())
            case 1: bytes[place] ^= 1 << (numbers.next() % 8)
            case 2: bytes.remove(at: place)
            case 3: bytes.insert(UInt8(truncatingIfNeeded: numbers.next()), at: place)
            default: bytes.removeSubrange(place...)
            }
        }
        return bytes
    }
}
