/// The items in a text pasted from another app: one for each line, without bullets and numbering.
public struct PastedText: Hashable, Sendable {
    /// The items' names in the text's order, each of at most ``ShoppingLimits/nameCharacters``.
    public let names: [String]
    /// How many items were over ``ShoppingLimits/pastedLines`` and left out.
    public let leftOutCount: Int

    public init(_ text: String) {
        let all = text.split(whereSeparator: \.isNewline).compactMap(PastedText.name)
        names = Array(all.prefix(ShoppingLimits.pastedLines))
        leftOutCount = all.count - names.count
    }

    private static let bullets: Set<Character> = [
        "-", "*", "+", "•", "◦", "‣", "–", "—", "·", "☐", "☑", "☒", "✓", "✔", "✗",
    ]
    private static let boxes = ["[ ]", "[x]", "[X]", "[]"]

    /// The item's name in a line; nil when nothing is left of it.
    private static func name(in line: Substring) -> String? {
        var rest = trimmed(line)
        var previous = rest
        repeat {
            previous = rest
            rest = trimmed(withoutMark(rest))
        } while rest != previous
        return rest.isEmpty ? nil : String(rest.prefix(ShoppingLimits.nameCharacters))
    }

    private static func withoutMark(_ line: Substring) -> Substring {
        if let first = line.first, bullets.contains(first) { return line.dropFirst() }
        for box in boxes where line.hasPrefix(box) { return line.dropFirst(box.count) }
        // "1. milk" and "2) bread" are numbered, "2 pints milk" and "1.5 l cola" are quantities.
        let digits = line.prefix { $0.isASCII && $0.isNumber }
        let after = line.dropFirst(digits.count)
        if !digits.isEmpty, let mark = after.first, mark == "." || mark == ")",
            after.dropFirst().first?.isWhitespace == true
        {
            return after.dropFirst()
        }
        return line
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var rest = text.drop(while: \.isWhitespace)
        while rest.last?.isWhitespace == true { rest.removeLast() }
        return rest
    }
}
