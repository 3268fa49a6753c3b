/// A supermarket's aisle; aisles are compared by their place on the way through the shop.
public struct Aisle: Hashable, Sendable, Comparable {
    public let name: String
    /// The place on the way, from 0.
    public let position: Int

    /// The place of what the catalogue does not know: after all aisles.
    public static let other = Aisle(name: "Other", position: .max)

    public static func < (left: Aisle, right: Aisle) -> Bool {
        (left.position, left.name) < (right.position, right.name)
    }
}

/// A product that the catalogue knows.
public struct Product: Hashable, Sendable {
    public let name: String
    public let aisle: Aisle
    /// Other names people type for it.
    public let synonyms: [String]
}

/// The products of a British supermarket with their aisles in walking order.
public struct Catalogue: Sendable {
    /// A name or synonym, prepared for matching.
    struct Phrase: Sendable {
        let product: Int
        let isSynonym: Bool
        let text: String
        let words: [String]
        let keys: [String]
    }

    public let products: [Product]
    /// The aisles in walking order.
    public let aisles: [Aisle]
    let phrases: [Phrase]
    /// The phrases that contain a key, by key.
    let phrasesByKey: [String: [Int]]

    /// The catalogue that comes with the app.
    public static let standard = Catalogue(
        text: String(decoding: PackageResources.Catalogue_tsv, as: UTF8.self))

    /// Reads a catalogue: a line for each product with name, aisle and comma-separated synonyms
    /// between tabs.
    ///
    /// Aisles are in the order of their first product. A line without an aisle is a product of
    /// ``Aisle/other``; empty lines are ignored.
    public init(text: String) {
        var products: [Product] = []
        var aisles: [Aisle] = []
        var aisleByName: [String: Aisle] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let columns = line.split(separator: "\t", omittingEmptySubsequences: false)
            guard let name = columns.first, !name.isEmpty else { continue }
            var aisle = Aisle.other
            if columns.count > 1, !columns[1].isEmpty {
                let aisleName = String(columns[1])
                aisle =
                    aisleByName[aisleName] ?? Aisle(name: aisleName, position: aisles.count)
                if aisleByName.updateValue(aisle, forKey: aisleName) == nil {
                    aisles.append(aisle)
                }
            }
            let synonyms = columns.count > 2 ? columns[2].split(separator: ",") : []
            products.append(
                Product(name: String(name), aisle: aisle, synonyms: synonyms.map(String.init)))
        }
        self.products = products
        self.aisles = aisles
        self.phrases = products.indices.flatMap { index in
            let product = products[index]
            return [Catalogue.phrase(product.name, product: index, isSynonym: false)]
                + product.synonyms.map {
                    Catalogue.phrase($0, product: index, isSynonym: true)
                }
        }
        var phrasesByKey: [String: [Int]] = [:]
        for (index, phrase) in phrases.enumerated() {
            for key in Set(phrase.keys) { phrasesByKey[key, default: []].append(index) }
        }
        self.phrasesByKey = phrasesByKey
    }

    private static func phrase(_ text: String, product: Int, isSynonym: Bool) -> Phrase {
        let words = ProductWords.split(text)
        return Phrase(
            product: product, isSynonym: isSynonym, text: text, words: words,
            keys: ProductWords.keys(words))
    }
}
