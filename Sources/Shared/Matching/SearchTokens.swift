import Foundation
import StratusRecords

/// The words of a text, as searches compare them: runs of letters and digits, in lowercase and without
/// diacritics. `"Über den Gipfel-Weg 7"` has the words `uber`, `den`, `gipfel`, `weg` and `7`.
package enum SearchTokens {
    /// The most words of one field that can be found; those after them cannot.
    static let maximumCount = 1_000
    /// The most bytes of a word that are compared.
    static let maximumBytes = 64
    /// The most bytes of one text that are searched for words, so that the cost of a text is bounded.
    static let maximumTextBytes = 100_000

    /// The words of a text in their order, unshortened, each as often as it occurs.
    package static func words(in text: String) -> [String] {
        var words: [String] = []
        forEachWord(in: text) { word in
            words.append(String(decoding: word, as: UTF8.self))
            return true
        }
        return words
    }

    /// The tokens of a text: its distinct words, shortened to the bytes that are compared, in byte order.
    package static func tokens(of text: String) -> [[UInt8]] {
        tokens(of: [text])
    }

    /// The tokens of texts.
    package static func tokens(of texts: [String]) -> [[UInt8]] {
        var found: Set<[UInt8]> = []
        var room = maximumTextBytes
        for text in texts where found.count < maximumCount && room > 0 {
            forEachWord(in: beginning(of: text, bytes: room)) { word in
                found.insert(Array(word.prefix(maximumBytes)))
                return found.count < maximumCount
            }
            room -= text.utf8.count
        }
        return found.sorted { $0.lexicographicallyPrecedes($1) }
    }

    /// The first bytes of the text, up to a number, without a word that is cut.
    private static func beginning(of text: String, bytes: Int) -> String {
        guard text.utf8.count > bytes else { return text }
        let scalars = text.unicodeScalars
        var end = text.utf8.index(text.utf8.startIndex, offsetBy: bytes)
        while end.samePosition(in: scalars) == nil { end = text.utf8.index(before: end) }
        while end > scalars.startIndex, isPartOfWord(scalars[scalars.index(before: end)]) {
            end = scalars.index(before: end)
        }
        return String(scalars[..<end])
    }

    private static func isPartOfWord(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isAlphabetic || scalar.properties.numericType != nil
            || scalar.properties.generalCategory == .nonspacingMark
    }

    /// Calls a closure with each word's UTF-8, until it returns false.
    private static func forEachWord(in text: String, _ body: (ArraySlice<UInt8>) -> Bool) {
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            var rest = text.utf8.map { isCapital($0) ? $0 | 0x20 : $0 }[...]
            while let start = rest.firstIndex(where: isASCIIWordByte) {
                rest = rest[start...]
                let word = rest.prefix(while: isASCIIWordByte)
                guard body(word) else { return }
                rest = rest[word.endIndex...]
            }
            return
        }
        // In the decomposed text, diacritics are separate scalars, which are left out.
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
    /// The tokens by which a search finds the value; none for values that are not text.
    package var searchTokens: [[UInt8]] {
        switch self {
        case .string(let text): SearchTokens.tokens(of: text)
        case .stringList(let texts): SearchTokens.tokens(of: texts)
        default: []
        }
    }
}
