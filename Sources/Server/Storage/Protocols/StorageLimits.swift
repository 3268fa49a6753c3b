/// The limits of a storage engine in a folder.
///
/// ```swift
/// var limits = StorageLimits()
/// limits.openDatabases = 256  // each takes three to seven file descriptors
/// ```
public struct StorageLimits: Hashable, Sendable {
    /// Database files kept open at once; the longest unused are closed when another is opened. Those in
    /// use are never closed, so that there may be more for a while.
    public var openDatabases = 64
    /// The least that a service is given, however few descriptors there are; tests go below.
    package static let leastOpenDatabases = 16

    /// Connections of one database that read at the same time, beside the one that writes.
    public var readersPerDatabase = 2

    /// How long a database is not used until it is closed, in seconds: that folds its write-ahead log into
    /// the file.
    public var idleSeconds: Double = 30

    /// Writes that share a commit at the most.
    public var writesPerCommit = 64

    /// Writes that may wait for one database; further ones are refused with ``StorageError/Code/busy``.
    public var waitingWrites = 4_096

    /// Pages of 4,096 bytes in the write-ahead log after which an idle writer has them moved into the
    /// database file by another connection: 4 MB.
    public var logPagesBeforeCheckpoint = 1_000

    /// Pages in the log after which the writer moves them itself before it goes on: 64 MB.
    public var logPagesBeforeForcedCheckpoint = 16_000

    /// Room that is kept for a full disk, so that deleting and reading go on; 0 keeps none. On a small
    /// disk it is a quarter of what is free.
    public var reserveBytes: Int64 = 16_000_000

    /// How long a connection waits for a lock of SQLite's, in seconds. Locks are held by our own
    /// connections alone and briefly; this covers an operator's `sqlite3` on the file.
    public var lockSeconds: Double = 5

    public init() {}
}
