import StratusMatching

/// The words that a search looks for.
enum SearchWords {
    /// Words that a search ignores, from Apple's documentation of `CKQuery`.
    private static let common: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is",
        "it", "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there",
        "these", "they", "this", "to", "was", "will", "with",
    ]

    /// The text without its common words; the whole text if it has no others.
    static func withoutCommonWords(_ text: String) -> String {
        let words = SearchTokens.words(in: text).filter { !common.contains($0) }
        return words.isEmpty ? text : words.joined(separator: " ")
    }
}
