import Foundation

/// Text as queries compare it: the UTF-8 of its canonical composition (NFC), in the order of bytes, which is the order
/// of Unicode scalars. No language's rules apply.
package enum NormalisedText {
    package static func utf8(_ text: String) -> [UInt8] {
        Array(isNormalised(text) ? text.utf8 : text.precomposedStringWithCanonicalMapping.utf8)
    }

    package static func isEqual(_ one: String, _ other: String) -> Bool {
        areNormalised(one, other) ? one == other : utf8(one) == utf8(other)
    }

    package static func isBefore(_ one: String, _ other: String) -> Bool {
        areNormalised(one, other)
            ? one.utf8.lexicographicallyPrecedes(other.utf8)
            : utf8(one).lexicographicallyPrecedes(utf8(other))
    }

    package static func begins(_ text: String, with prefix: String) -> Bool {
        areNormalised(text, prefix)
            ? text.utf8.starts(with: prefix.utf8) : utf8(text).starts(with: utf8(prefix))
    }

    private static func areNormalised(_ one: String, _ other: String) -> Bool {
        isNormalised(one) && isNormalised(other)
    }

    /// Scalars below U+0300, which begin with a byte below 0xCC, are their own composition, and nothing
    /// composes with them.
    private static func isNormalised(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 < 0xCC }
    }
}
