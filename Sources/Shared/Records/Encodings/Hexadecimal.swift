/// Bytes as hexadecimal text, two digits for each.
package enum Hexadecimal {
    private static let digits: StaticString = "0123456789abcdef"

    /// In lower case.
    package static func text(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * bytes.underestimatedCount)
        for byte in bytes {
            text.append(digits.utf8Start[Int(byte >> 4)])
            text.append(digits.utf8Start[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Reads pairs of digits, in either case; nil for anything else.
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count / 2)
        var first: UInt8?
        for digit in text.utf8 {
            guard let value = Character(Unicode.Scalar(digit)).hexDigitValue else { return nil }
            if let high = first {
                bytes.append(high << 4 | UInt8(value))
                first = nil
            } else {
                first = UInt8(value)
            }
        }
        return first == nil ? bytes : nil
    }
}
