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

/// How many bytes go into one upload: halved when uploads get lost again and again, as a slow network
/// loses large ones only; won back slowly.
public struct BatchBytes: Hashable, Sendable {
    /// Losses in a row after which a smaller upload is tried: one alone says nothing of the size.
    static let lossesBeforeShrinking = 2

    /// No network is so slow that less would help.
    static let minimum = 32_768

    /// Successes in a row before a larger upload is tried.
    static let successesBeforeGrowth = 16

    /// Bytes of fields in the next upload at the most.
    public private(set) var bytesLimit: Int

    private let maximum: Int
    private var losses = 0
    private var successes = 0

    public init(maximum: Int) {
        self.maximum = maximum
        bytesLimit = maximum
    }

    /// Takes note that nobody knows whether an upload arrived.
    public mutating func lost() {
        successes = 0
        losses += 1
        guard losses >= Self.lossesBeforeShrinking else { return }
        losses = 0
        bytesLimit = min(bytesLimit, max(Self.minimum, bytesLimit / 2))
    }

    /// Takes note that an upload was answered.
    public mutating func arrived() {
        losses = 0
        guard bytesLimit < maximum else { return }
        successes += 1
        guard successes >= Self.successesBeforeGrowth else { return }
        successes = 0
        bytesLimit = min(maximum, bytesLimit * 2)
    }
}
