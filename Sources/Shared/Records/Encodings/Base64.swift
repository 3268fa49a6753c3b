/// Bytes as text, in the two alphabets of RFC 4648: section 4, and section 5 for addresses.
///
/// It writes into existing memory and needs no Foundation. Documentation/Decisions/0014 says why it
/// does not use Foundation's.
package enum Base64 {
    private static let alphabet: StaticString =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    private static let addressAlphabet: StaticString =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

    /// The values of an alphabet's bytes; 0xFF for all others.
    private static func values(of alphabets: StaticString...) -> [UInt8] {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for alphabet in alphabets {
            for value in 0..<64 { values[Int(alphabet.utf8Start[value])] = UInt8(value) }
        }
        return values
    }

    private static let values = values(of: alphabet)
    /// Values of both alphabets, because addresses come from many clients.
    private static let addressValues = values(of: alphabet, addressAlphabet)

    // MARK: Text

    package static func text(_ bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: encodedCount(of: bytes.count)) { buffer in
            guard let target = buffer.baseAddress else { return 0 }
            bytes.withUnsafeBufferPointer { encode($0, to: target) }
            return encodedCount(of: bytes.count)
        }
    }

    /// Reads base64 with its padding; nil for anything else.
    package static func bytes(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { $0.count % 4 == 0 ? decode($0, values) : nil }
    }

    /// The alphabet that needs no escaping in an address; without padding.
    package static func addressText(_ bytes: [UInt8]) -> String {
        String(unsafeUninitializedCapacity: encodedCount(of: bytes.count)) { buffer in
            guard let target = buffer.baseAddress else { return 0 }
            bytes.withUnsafeBufferPointer { encode($0, to: target, addressAlphabet) }
            // Four letters encode three bytes; a remainder of n bytes takes n + 1 letters before
            // the padding.
            let rest = bytes.count % 3
            return bytes.count / 3 * 4 + (rest == 0 ? 0 : rest + 1)
        }
    }

    /// Reads what ``addressText(_:)`` wrote, with or without padding; nil for anything else.
    package static func bytes(addressText text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decode($0, addressValues) }
    }

    // MARK: Memory

    package static func encodedCount(of count: Int) -> Int { (count + 2) / 3 * 4 }

    /// Writes ``encodedCount(of:)`` bytes, padding included.
    package static func encode(
        _ bytes: UnsafeBufferPointer<UInt8>, to target: UnsafeMutablePointer<UInt8>
    ) {
        encode(bytes, to: target, alphabet)
    }

    /// Reads base64 with or without its padding; nil for anything else.
    package static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        decode(text, values)
    }

    private static func encode(
        _ bytes: UnsafeBufferPointer<UInt8>, to target: UnsafeMutablePointer<UInt8>,
        _ alphabet: StaticString
    ) {
        let letters = alphabet.utf8Start
        var target = target
        var index = 0
        while index + 2 < bytes.count {
            let group =
                UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8
                | UInt32(bytes[index + 2])
            target[0] = letters[Int(group >> 18)]
            target[1] = letters[Int(group >> 12 & 63)]
            target[2] = letters[Int(group >> 6 & 63)]
            target[3] = letters[Int(group & 63)]
            target += 4
            index += 3
        }
        guard index < bytes.count else { return }
        let first = UInt32(bytes[index]) << 16
        let second = index + 1 < bytes.count ? UInt32(bytes[index + 1]) << 8 : 0
        let group = first | second
        target[0] = letters[Int(group >> 18)]
        target[1] = letters[Int(group >> 12 & 63)]
        target[2] = index + 1 < bytes.count ? letters[Int(group >> 6 & 63)] : UInt8(ascii: "=")
        target[3] = UInt8(ascii: "=")
    }

    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>, _ values: [UInt8]
    ) -> [UInt8]? {
        var count = text.count
        if count % 4 == 0 {
            for _ in 0..<2 where count > 0 && text[count - 1] == UInt8(ascii: "=") { count -= 1 }
        }
        guard count % 4 != 1 else { return nil }
        var isValid = true
        let decoded = [UInt8](unsafeUninitializedCapacity: count * 3 / 4) { target, written in
            values.withUnsafeBufferPointer { values in
                var bits: UInt32 = 0
                var bitCount = 0
                for index in 0..<count {
                    let value = values[Int(text[index])]
                    isValid = isValid && value != 0xFF
                    bits = bits << 6 | UInt32(value & 63)
                    bitCount += 6
                    guard bitCount >= 8 else { continue }
                    bitCount -= 8
                    target[written] = UInt8(truncatingIfNeeded: bits >> UInt32(bitCount))
                    written += 1
                }
            }
        }
        return isValid ? decoded : nil
    }
}
