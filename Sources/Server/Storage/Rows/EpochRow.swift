/// One process's uninterrupted period of writing on a database.
///
/// A process that opens a database begins an epoch with its first write. So two copies of one file never continue in
/// the same epoch, and equal epochs mean equal histories.
public struct Epoch: Hashable, Sendable {
    /// Counts the epochs of the database: 1, 2, 3 …
    public var number: Int64
    /// Random, so that the epochs of two copies of one file differ.
    public var identifier: UInt64

    public init(number: Int64, identifier: UInt64) {
        self.number = number
        self.identifier = identifier
    }
}

/// An epoch in which a database or a zone was written, as it is stored.
///
/// It ends where the next one of the same database or zone begins; the last one is still open.
public struct EpochRow: Hashable, Sendable {
    public var epoch: Epoch
    /// The version of the database or of the zone before its first change in the epoch.
    public var startVersion: Int64
    /// When that change was made, in milliseconds since 1970; 0 if it is older than epochs.
    public var startedMilliseconds: Int64

    public init(epoch: Epoch, startVersion: Int64, startedMilliseconds: Int64) {
        self.epoch = epoch
        self.startVersion = startVersion
        self.startedMilliseconds = startedMilliseconds
    }
}
