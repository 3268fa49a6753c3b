/// How many of an item: a separate number as in "2 × milk", not a part of the name as in "2 pints milk".
public enum Quantity {
    public static let range = 1...9_999

    /// Splits the number from a typed text: "2 × milk", "2x milk" and "milk × 2" are two of milk.
    ///
    /// - Returns: nil for a text without a number, such as "2 pints milk".
    public static func split(_ text: String) -> (quantity: Int, name: String)? {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard words.count > 1 else { return nil }
        let ways: [(mark: [Substring], rest: ArraySlice<Substring>)] = [
            (Array(words.prefix(2)), words.dropFirst(2)),
            (Array(words.prefix(1)), words.dropFirst()),
            (words.suffix(2).reversed(), words.dropLast(2)),
            (Array(words.suffix(1)), words.dropLast()),
        ]
        for way in ways where !way.rest.isEmpty {
            if let quantity = number(way.mark) {
                return (quantity, way.rest.joined(separator: " "))
            }
        }
        return nil
    }

    /// The text of an item: its name, after the number if there are several.
    public static func text(_ quantity: Int, _ name: String) -> String {
        quantity == 1 ? name : "\(quantity) × \(name)"
    }

    /// Reads "2" from an entry or a command.
    static func number(of text: String?) -> Int? {
        text.flatMap { Int($0) }.flatMap { range.contains($0) ? $0 : nil }
    }

    /// Reads "2 ×", "2×" and "×2".
    private static func number(_ mark: [Substring]) -> Int? {
        let isCross: (Character) -> Bool = { "×xX".contains($0) }
        if mark.count == 2 {
            guard mark[1].count == 1, mark[1].allSatisfy(isCross) else { return nil }
            return number(of: String(mark[0]))
        }
        let word = mark[0]
        if let last = word.last, isCross(last) { return number(of: String(word.dropLast())) }
        if let first = word.first, isCross(first) { return number(of: String(word.dropFirst())) }
        return nil
    }
}
