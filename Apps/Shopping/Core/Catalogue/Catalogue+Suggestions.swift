/// A product offered while the user types.
public struct Suggestion: Hashable, Sendable {
    public let product: Product
    /// The name or synonym that the typed text begins.
    public let matched: String
}

extension Catalogue {
    /// Offers products for a text that is still being typed, the best first.
    ///
    /// The last word may be unfinished, the others must be there. Names and synonyms that begin
    /// with the text come first, the shorter before the longer, then the catalogue's order. Numbers
    /// and units at the start ("2 pints mi") are skipped.
    ///
    /// - Parameter limit: how many at most; never more than ``ShoppingLimits/suggestions``.
    public func suggestions(for text: String, limit: Int = 8) -> [Suggestion] {
        let words = Catalogue.withoutQuantity(ProductWords.split(text))
        let limit = min(limit, ShoppingLimits.suggestions)
        guard let last = words.last, limit > 0 else { return [] }
        let finished = Set(ProductWords.keys(Array(words.dropLast())))
        var bestByProduct: [Int: Rank] = [:]
        for (index, phrase) in phrases.enumerated() {
            guard let position = phrase.position(ofWordBeginning: last),
                finished.isSubset(of: phrase.keys)
            else { continue }
            let rank = Rank(
                begins: position == words.count - 1 || position == 0,
                isSynonym: phrase.isSynonym, length: phrase.text.count, phrase: index)
            if let known = bestByProduct[phrase.product], known < rank { continue }
            bestByProduct[phrase.product] = rank
        }
        return bestByProduct.values.sorted().prefix(limit).map { rank in
            let phrase = phrases[rank.phrase]
            return Suggestion(product: products[phrase.product], matched: phrase.text)
        }
    }

    private struct Rank: Comparable {
        let begins: Bool
        let isSynonym: Bool
        let length: Int
        let phrase: Int

        static func < (left: Rank, right: Rank) -> Bool {
            if left.begins != right.begins { return left.begins }
            if left.length != right.length { return left.length < right.length }
            if left.isSynonym != right.isSynonym { return right.isSynonym }
            return left.phrase < right.phrase
        }
    }

    private static let units: Set<String> = [
        "bag", "bags", "bottle", "bottles", "box", "boxes", "bunch", "dozen", "g", "half", "jar",
        "jars", "kg", "kilo", "kilos", "l", "litre", "litres", "loaf", "loaves", "ml", "pack",
        "packet", "packets", "packs", "pint", "pints", "pot", "pots", "tub", "tubs", "x",
    ]

    /// Drops a leading number with the units and fillers after it, but never the last word.
    private static func withoutQuantity(_ words: [String]) -> [String] {
        guard let first = words.first, first.contains(where: \.isNumber) else { return words }
        let rest = words.drop { word in
            word.contains(where: \.isNumber) || units.contains(word) || word == "of"
        }
        return rest.isEmpty ? Array(words.suffix(1)) : Array(rest)
    }
}

extension Catalogue.Phrase {
    /// The position of the first word that begins with the text, or is its singular or plural.
    fileprivate func position(ofWordBeginning text: String) -> Int? {
        let key = ProductWords.key(text)
        return words.firstIndex { $0.hasPrefix(text) || ProductWords.key($0) == key }
    }
}
