/// How many items go into one upload: halved when the service finds one too large, won back slowly.
///
/// What the service takes is learned once, not at every batch: a client that sends 400 again after
/// each halving makes every other request a refused one.
public struct BatchSize: Hashable, Sendable {
    /// Full batches in a row that must succeed before a larger one is tried.
    static let successesBeforeGrowth = 16

    /// Items in the next batch at the most; at least 1.
    public private(set) var itemLimit: Int

    private let maximum: Int
    private var fullSuccesses = 0

    public init(maximum: Int) {
        self.maximum = max(1, maximum)
        itemLimit = self.maximum
    }

    /// Takes note that a batch of this many items was too large.
    ///
    /// - Returns: whether a smaller one can be tried; false for a single item.
    public mutating func refused(itemCount: Int) -> Bool {
        fullSuccesses = 0
        guard itemCount > 1 else { return false }
        itemLimit = max(1, min(itemLimit, itemCount) / 2)
        return true
    }

    /// Takes note that the service took a batch of this many items.
    public mutating func accepted(itemCount: Int) {
        guard itemLimit < maximum, itemCount >= itemLimit else { return }
        fullSuccesses += 1
        guard fullSuccesses >= Self.successesBeforeGrowth else { return }
        fullSuccesses = 0
        itemLimit = min(maximum, itemLimit * 2)
    }
}
