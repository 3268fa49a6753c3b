/// The limits of a storage engine in a folder.
///
/// ```swift
/// var limits = StorageLimits()
/// limits.openDatabases = 256  // each takes three to seven file descriptors
/// ```
public struct StorageLimits: Hashable, Sendable {
    /// Database files kept open at the same time; the least recently used are closed when another is opened. Those in
    /// use are never closed, so there may be more for a while.
    public var openDatabases = 64
    /// The least value for a service, however few descriptors there are; tests use less.
    package static let leastOpenDatabases = 16

    /// Connections of one database that read at the same time, besides the one that writes.
    public var readersPerDatabase = 2

    /// After how many seconds without use a database is closed. Closing moves its write-ahead log into the file.
    public var idleSeconds: Double = 30

    /// The most writes that share a commit.
    public var writesPerCommit = 64

    /// Writes that may wait for one database; further ones are refused with ``StorageError/Code/busy``.
    public var waitingWrites = 4_096

    /// The number of pages of 4,096 bytes in the write-ahead log from which another connection moves them into the
    /// database file as soon as the writer is idle: 4 MB.
    public var logPagesBeforeCheckpoint = 1_000

    /// The number of pages in the log from which the writer moves them itself before it continues: 64 MB.
    public var logPagesBeforeForcedCheckpoint = 16_000

    /// Room that is kept for a full disk, so that deleting and reading still work; 0 keeps none. On a small disk it is
    /// a quarter of the free room.
    public var reserveBytes: Int64 = 16_000_000

    /// How long a connection waits for a lock of SQLite, in seconds. The engine's own connections hold locks only
    /// briefly; the wait is for an operator's `sqlite3` on the file.
    public var lockSeconds: Double = 5

    /// Makes the default limits.
    public init() {}
}
