// How typed text finds its product. A phrase (a product's name or synonym) fits when the text has
// all its words, in any order, plural or singular; quantities and other words are ignored. Of
// several that fit:
// 1. more words fit better: "tinned tomatoes" is not "tomatoes";
// 2. the later in the text, the better: "milk chocolate" is chocolate;
// 3. words in the typed order are better than another order: "pudding rice" is not "rice pudding";
// 4. words exactly as typed are better than another number: "peppers" is not "pepper";
// 5. names before synonyms, then the catalogue's order.
// Words after "for", "with" and "from" count only when nothing before them fits.

extension Catalogue {
    /// Finds the product that a typed text means; nil when the catalogue does not know it.
    public func product(matching text: String) -> Product? {
        let words = ProductWords.split(text)
        if let ending = words.firstIndex(where: ProductWords.endings.contains),
            let index = bestProduct(words: Array(words[..<ending]))
        {
            return products[index]
        }
        return bestProduct(words: words).map { products[$0] }
    }

    /// Finds the aisle of a typed text; ``Aisle/other`` when the catalogue does not know it.
    public func aisle(of text: String) -> Aisle {
        product(matching: text)?.aisle ?? .other
    }

    private struct Fit: Comparable {
        let wordCount: Int
        let lastPosition: Int
        /// How many neighbours in the phrase stand in the same order in the text.
        let orderedCount: Int
        let exactCount: Int
        /// Smaller is better.
        let order: Int

        static func < (left: Fit, right: Fit) -> Bool {
            (left.wordCount, left.lastPosition, left.orderedCount, left.exactCount, right.order)
                < (
                    right.wordCount, right.lastPosition, right.orderedCount, right.exactCount,
                    left.order
                )
        }
    }

    private func bestProduct(words: [String]) -> Int? {
        let keys = ProductWords.keys(words)
        var positionByKey: [String: Int] = [:]
        for (position, key) in keys.enumerated() { positionByKey[key] = position }
        let typed = Set(words)
        var best: (fit: Fit, product: Int)?
        var candidates: Set<Int> = []
        for key in positionByKey.keys { candidates.formUnion(phrasesByKey[key] ?? []) }
        for index in candidates {
            let phrase = phrases[index]
            let positions = phrase.keys.compactMap { positionByKey[$0] }
            guard positions.count == phrase.keys.count, let lastPosition = positions.max() else {
                continue
            }
            let fit = Fit(
                wordCount: phrase.keys.count, lastPosition: lastPosition,
                orderedCount: zip(positions, positions.dropFirst()).count { $0 < $1 },
                exactCount: phrase.words.count(where: typed.contains),
                order: phrase.isSynonym ? phrases.count + index : index)
            if let known = best, fit < known.fit { continue }
            best = (fit, phrase.product)
        }
        return best?.product
    }
}
