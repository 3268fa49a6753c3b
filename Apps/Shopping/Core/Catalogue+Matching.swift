// How typed text finds its product. A phrase (a product's name or synonym) fits when the text has
// all its words, in any order, plural or singular; quantities and other words do no harm. Of
// several that fit:
// 1. more words fit better: "tinned tomatoes" is not "tomatoes";
// 2. the later in the text, the better: "milk chocolate" is chocolate;
// 3. words exactly as typed are better than another number: "peppers" is not "pepper";
// 4. names before synonyms, then the catalogue's order.
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
        let exactCount: Int
        /// Smaller is better.
        let order: Int

        static func < (left: Fit, right: Fit) -> Bool {
            (left.wordCount, left.lastPosition, left.exactCount, right.order)
                < (right.wordCount, right.lastPosition, right.exactCount, left.order)
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
            var lastPosition = -1
            for key in phrase.keys {
                guard let position = positionByKey[key] else {
                    lastPosition = -1
                    break
                }
                lastPosition = max(lastPosition, position)
            }
            guard lastPosition >= 0 else { continue }
            let fit = Fit(
                wordCount: phrase.keys.count, lastPosition: lastPosition,
                exactCount: phrase.words.count(where: typed.contains),
                order: phrase.isSynonym ? phrases.count + index : index)
            if let known = best, fit < known.fit { continue }
            best = (fit, phrase.product)
        }
        return best?.product
    }
}
