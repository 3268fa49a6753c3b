import Foundation
import StratusRecords

/// The words of a text, as searches compare them: runs of letters and digits, in lower case and without
/// diacritics. `"Über den Gipfel-Weg 7"` has the words `uber`, `den`, `gipfel`, `weg` and `7`.
enum SearchTokens {
    /// Words of one field that can be found; the ones after them cannot.
    static let maximumCount = 1_000
    /// Bytes of a word that count.
    static let maximumBytes = 64

    /// The distinct words of a text, in byte order.
    static func words(of text: String) -> [[UInt8]] {
        words(of: [text])
    }

    /// The distinct words of texts, in byte order.
    static func words(of texts: [String]) -> [[UInt8]] {
        var found: Set<[UInt8]> = []
        for text in texts {
            collect(from: text, into: &found)
            if found.count >= maximumCount { break }
        }
        return found.sorted { $0.lexicographicallyPrecedes($1) }
    }

    private static func collect(from text: String, into found: inout Set<[UInt8]>) {
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            for word in text.utf8.split(whereSeparator: { !isASCIIWordByte($0) }) {
                found.insert(word.prefix(maximumBytes).map { isCapital($0) ? $0 | 0x20 : $0 })
                if found.count >= maximumCount { return }
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
            found.insert(Array(folded.utf8.prefix(maximumBytes)))
            if found.count >= maximumCount { return }
        }
    }

    private static func isCapital(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) }

    private static func isASCIIWordByte(_ byte: UInt8) -> Bool {
        isCapital(byte) || (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte)
    }
}

extension FieldValue {
    /// The words that a search finds the value by; none in values that are not text.
    var words: [[UInt8]] {
        switch self {
        case .string(let text): SearchTokens.words(of: text)
        case .stringList(let texts): SearchTokens.words(of: texts)
        default: []
        }
    }
}
