import Foundation

/// The words of a text, as searches compare them.
enum SearchWords {
    /// Words that a search leaves out, as in Apple's documentation of `CKQuery`.
    private static let common: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is",
        "it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there",
        "these", "they", "this", "to", "was", "will", "with",
    ]

    /// The words in lower case and without diacritics, in their order.
    static func words(of text: String) -> [String] {
        let scalars = text.decomposedStringWithCanonicalMapping.unicodeScalars
            .filter { $0.properties.generalCategory != .nonspacingMark }
        return scalars.split {
            !$0.properties.isAlphabetic && $0.properties.numericType == nil
        }.map { word in word.reduce(into: "") { $0 += $1.properties.lowercaseMapping } }
    }

    /// What of a text is worth searching for: all of it when it has common words only.
    static func telling(in text: String) -> String {
        let words = words(of: text).filter { !common.contains($0) }
        return words.isEmpty ? text : words.joined(separator: " ")
    }
}
