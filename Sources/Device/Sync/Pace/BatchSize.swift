/// The number of items in one upload: halved when the service refuses one as too large, and slowly
/// increased again.
///
/// The accepted size is kept between batches: if a client tried 400 items again after each halving, every other request
/// would be refused.
public struct BatchSize: Hashable, Sendable {
    /// Consecutive full batches that must succeed before a larger one is tried.
    static let successesBeforeGrowth = 16

    /// The maximum number of items in the next batch; at least 1.
    public private(set) var itemLimit: Int

    private let maximum: Int
    private var fullSuccesses = 0

    /// Starts with batches of the maximum.
    ///
    /// - Parameter maximum: the most items that a batch may ever have; less than 1 counts as 1.
    public init(maximum: Int) {
        self.maximum = max(1, maximum)
        itemLimit = self.maximum
    }

    /// Notes that a batch of this many items was too large.
    ///
    /// - Returns: whether a smaller one can be tried; false for a single item.
    public mutating func refused(itemCount: Int) -> Bool {
        fullSuccesses = 0
        guard itemCount > 1 else { return false }
        itemLimit = max(1, min(itemLimit, itemCount) / 2)
        return true
    }

    /// Notes that the service accepted a batch of this many items.
    public mutating func accepted(itemCount: Int) {
        guard itemLimit < maximum, itemCount >= itemLimit else { return }
        fullSuccesses += 1
        guard fullSuccesses >= Self.successesBeforeGrowth else { return }
        fullSuccesses = 0
        itemLimit = min(maximum, itemLimit * 2)
    }
}

/// The number of bytes in one upload: halved after repeated losses, because a slow network loses
/// only large uploads, and slowly increased again.
public struct BatchBytes: Hashable, Sendable {
    /// Consecutive losses after which a smaller upload is tried: a single loss does not depend on
    /// the size.
    static let lossesBeforeShrinking = 2

    /// The minimum of the limit; smaller uploads do not help on any network.
    static let minimum = 32_768

    /// Consecutive successes before a larger upload is tried.
    static let successesBeforeGrowth = 16

    /// The maximum number of bytes of fields in the next upload.
    public private(set) var bytesLimit: Int

    private let maximum: Int
    private var losses = 0
    private var successes = 0

    /// Starts with uploads of the maximum.
    ///
    /// - Parameter maximum: the most bytes of fields in an upload, unless one record alone has more.
    public init(maximum: Int) {
        self.maximum = maximum
        bytesLimit = maximum
    }

    /// Notes that it is unknown whether an upload arrived.
    public mutating func lost() {
        successes = 0
        losses += 1
        guard losses >= Self.lossesBeforeShrinking else { return }
        losses = 0
        bytesLimit = min(bytesLimit, max(Self.minimum, bytesLimit / 2))
    }

    /// Notes that an upload was answered.
    public mutating func arrived() {
        losses = 0
        guard bytesLimit < maximum else { return }
        successes += 1
        guard successes >= Self.successesBeforeGrowth else { return }
        successes = 0
        bytesLimit = min(maximum, bytesLimit * 2)
    }
}
