/// A key that a person pressed.
enum ScreenKey: Hashable, Sendable {
    case up, down, pageUp, pageDown, home, end
    case enter, escape, backspace, delete, tab
    case character(Character)

    /// Reads keys from what a terminal sent; a sequence that is not known is left out.
    ///
    /// - Returns: the keys, and the bytes of an unfinished one, to be put before the next.
    static func read(_ bytes: [UInt8]) -> (keys: [ScreenKey], rest: [UInt8]) {
        var keys: [ScreenKey] = []
        var index = 0
        while index < bytes.count {
            let rest = bytes[index...]
            if bytes[index] == 0x1B {
                guard let (key, count) = sequence(rest) else { return (keys, Array(rest)) }
                if let key { keys.append(key) }
                index += count
                continue
            }
            let wanted = length(ofCharacterBeginning: bytes[index])
            let count =
                1 + rest.dropFirst().prefix(wanted - 1).prefix { $0 & 0xC0 == 0x80 }.count
            if count < wanted {
                guard rest.count > count else { return (keys, Array(rest)) }
                // Not a character: what follows it is a separate key.
                index += count
                continue
            }
            switch bytes[index] {
            case 0x0A, 0x0D: keys.append(.enter)
            case 0x09: keys.append(.tab)
            case 0x08, 0x7F: keys.append(.backspace)
            default:
                keys += (String(validating: rest.prefix(count), as: UTF8.self) ?? "")
                    .filter { $0.unicodeScalars.allSatisfy { !$0.isControl } }
                    .map { .character($0) }
            }
            index += count
        }
        return (keys, [])
    }

    private static func length(ofCharacterBeginning byte: UInt8) -> Int {
        switch byte {
        case 0xF0...0xF7: 4
        case 0xE0..<0xF0: 3
        case 0xC0..<0xE0: 2
        default: 1
        }
    }

    /// The key of an escape sequence and its bytes; nil for one that has not arrived as a whole.
    ///
    /// Escape by itself comes alone: a terminal sends the rest of a sequence with it.
    private static func sequence(_ bytes: ArraySlice<UInt8>) -> (ScreenKey?, Int)? {
        let bytes = Array(bytes)
        guard bytes.count > 1 else { return (.escape, 1) }
        guard bytes[1] == 0x5B || bytes[1] == 0x4F else { return (.escape, 1) }
        guard let end = bytes.dropFirst(2).firstIndex(where: { (0x40...0x7E).contains($0) }) else {
            return nil
        }
        let keys: [String: ScreenKey] = [
            "A": .up, "B": .down, "H": .home, "F": .end, "1~": .home, "4~": .end, "3~": .delete,
            "5~": .pageUp, "6~": .pageDown,
        ]
        return (keys[String(decoding: bytes[2...end], as: UTF8.self)], end + 1)
    }
}

extension Unicode.Scalar {
    fileprivate var isControl: Bool { properties.generalCategory == .control }
}
