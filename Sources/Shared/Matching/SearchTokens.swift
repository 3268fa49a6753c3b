import Foundation
import StratusRecords

/// The words of a text, as searches compare them: runs of letters and digits, in lower case and without
/// diacritics. `"Über den Gipfel-Weg 7"` has the words `uber`, `den`, `gipfel`, `weg` and `7`.
package enum SearchTokens {
    /// Words of one field that can be found; the ones after them cannot.
    static let maximumCount = 1_000
    /// Bytes of a word that count.
    static let maximumBytes = 64

    /// The words of a text in their order, whole and as often as they occur.
    package static func words(in text: String) -> [String] {
        var words: [String] = []
        forEachWord(in: text) { word in
            words.append(String(decoding: word, as: UTF8.self))
            return true
        }
        return words
    }

    /// The tokens of a text: its distinct words, shortened to the bytes that count, in byte order.
    package static func tokens(of text: String) -> [[UInt8]] {
        tokens(of: [text])
    }

    /// The tokens of texts.
    package static func tokens(of texts: [String]) -> [[UInt8]] {
        var found: Set<[UInt8]> = []
        for text in texts where found.count < maximumCount {
            forEachWord(in: text) { word in
                found.insert(Array(word.prefix(maximumBytes)))
                return found.count < maximumCount
            }
        }
        return found.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// Calls a closure with each word's UTF-8, until it returns false.
    private static func forEachWord(in text: String, _ body: (ArraySlice<UInt8>) -> Bool) {
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            let lowercased = text.utf8.map { isCapital($0) ? $0 | 0x20 : $0 }
            for word in lowercased.split(whereSeparator: { !isASCIIWordByte($0) })
            where !body(word) {
                return
            }
            return
        }
        // Decomposed, a letter's diacritics are scalars of their own, which are left out.
        let scalars = text.decomposedStringWithCanonicalMapping.unicodeScalars
            .filter { $0.properties.generalCategory != .nonspacingMark }
        let words = scalars.split {
            !$0.properties.isAlphabetic && $0.properties.numericType == nil
        }
        for word in words {
            let folded = word.reduce(into: "") { $0 += $1.properties.lowercaseMapping }
            if !body(Array(folded.utf8)[...]) { return }
        }
    }

    private static func isCapital(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) }

    private static func isASCIIWordByte(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
    }
}

extension FieldValue {
    /// The tokens that a search finds the value by; none in values that are not text.
    package var searchTokens: [[UInt8]] {
        switch self {
        case .string(let text): SearchTokens.tokens(of: text)
        case .stringList(let texts): SearchTokens.tokens(of: texts)
        default: []
        }
    }
}
