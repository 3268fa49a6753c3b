/// The limits of the shopping list.
public enum ShoppingLimits {
    /// Lines that one paste takes; the rest is counted, not added.
    public static let pastedLines = 1_000
    /// Characters of a pasted line that become an item's name; longer lines are cut.
    public static let nameCharacters = 200
    /// Suggestions that one request returns at most.
    public static let suggestions = 20
    /// Changes kept for somebody who watches a store and does not look; the oldest give way.
    public static let untoldChanges = 10_000
}
