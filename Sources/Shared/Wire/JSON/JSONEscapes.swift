/// Which bytes of a JSON string need an escape (RFC 8259, section 7), and how it looks.
enum JSONEscapes {
    /// The index of the first quote, backslash or control character at or after `start`; the text's
    /// count when there is none.
    @inline(__always)
    static func firstToEscape(in text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
        guard let base = text.baseAddress else { return text.count }
        var index = start
        let raw = UnsafeRawPointer(base)
        // Eight bytes at a time; a hit ends the loop, and the bytes are then tested one by one.
        while index + 8 <= text.count {
            if hasByteToEscape(raw.loadUnaligned(fromByteOffset: index, as: UInt64.self)) { break }
            index += 8
        }
        while index < text.count {
            let byte = base[index]
            if byte < 0x20 || byte == 0x22 || byte == 0x5C { return index }
            index += 1
        }
        return index
    }

    /// Tests eight bytes at once: subtracting borrows into a byte's high bit exactly where the byte
    /// was smaller, and bytes that had the high bit before do not count.
    @inline(__always)
    private static func hasByteToEscape(_ word: UInt64) -> Bool {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        let quotes = (word ^ (ones &* 0x22)) &- ones
        let backslashes = (word ^ (ones &* 0x5C)) &- ones
        let controls = word &- (ones &* 0x20)
        return (quotes | backslashes | controls) & ~word & highs != 0
    }

    /// Writes the escape of one byte, at most six bytes, and returns its length.
    static func write(_ byte: UInt8, to target: UnsafeMutablePointer<UInt8>) -> Int {
        target[0] = UInt8(ascii: "\\")
        switch byte {
        case 0x22, 0x5C: target[1] = byte
        case 0x08: target[1] = UInt8(ascii: "b")
        case 0x09: target[1] = UInt8(ascii: "t")
        case 0x0A: target[1] = UInt8(ascii: "n")
        case 0x0C: target[1] = UInt8(ascii: "f")
        case 0x0D: target[1] = UInt8(ascii: "r")
        default:
            let hex: StaticString = "0123456789abcdef"
            target[1] = UInt8(ascii: "u")
            target[2] = UInt8(ascii: "0")
            target[3] = UInt8(ascii: "0")
            target[4] = hex.utf8Start[Int(byte >> 4)]
            target[5] = hex.utf8Start[Int(byte & 15)]
            return 6
        }
        return 2
    }
}
