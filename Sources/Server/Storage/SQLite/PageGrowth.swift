import GRDB
import StratusSQLite

/// When and how a file gets larger pages (Documentation/Decisions/0015).
///
/// Every table and index has a page of its own from the start, so a file with forty of them has forty pages before its
/// first record. Small pages need a quarter of the space, but are slower when much is written. So a file begins with
/// small pages, and is rewritten once with SQLite's default page size when it has grown.
struct PageGrowth: Sendable {
    /// SQLite's default page size.
    static let grownPageBytes = 4_096
    /// The size in a new file.
    static let newPageBytes = 1_024
    /// A larger file gets the default page size: at about 100 records. Rewriting that many takes some milliseconds.
    private static let bytesBeforeGrowth = 128 * 1_024

    private(set) var pageBytes: Int
    /// The size, in pages, from which rewriting is tried; it doubles after a failure.
    private var triedFromPages: Int

    init(pageBytes: Int) {
        self.pageBytes = pageBytes
        triedFromPages = Self.bytesBeforeGrowth / pageBytes
    }

    static func pageBytes(of database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "PRAGMA page_size") ?? grownPageBytes
    }

    /// Rewrites the file with larger pages when it has grown and nothing reads from it.
    ///
    /// - Parameter logPages: Pages of the write-ahead log: while they are few, nothing is checked.
    mutating func growIfDue(_ writer: Database, _ reads: ReadingConnections, logPages: Int) {
        guard pageBytes < Self.grownPageBytes, logPages > 0 else { return }
        do {
            let pages = Int(
                try SQLStatement(writer, "PRAGMA page_count").first { $0.integer(0) } ?? 0)
            guard pages >= triedFromPages else { return }
            let hasRun = try reads.whileNobodyReads { try Self.grow(writer) }
            if hasRun { pageBytes = try Self.pageBytes(of: writer) }
            if pageBytes < Self.grownPageBytes { triedFromPages = pages * 2 }
        } catch {
            // The file is unchanged. If the disk fails, the commits report it. If another process has the file open,
            // rewriting is tried again when the file is larger.
            triedFromPages *= 2
        }
    }

    /// SQLite can change the page size only outside of write-ahead logging. Every step is atomic and durable, and a
    /// file that a crash leaves between them is opened like any other.
    private static func grow(_ writer: Database) throws {
        let lockMilliseconds = try Int.fetchOne(writer, sql: "PRAGMA busy_timeout") ?? 0
        // Does not wait for a command that has the file open.
        try writer.execute(sql: "PRAGMA busy_timeout = 0; PRAGMA temp_store = MEMORY")
        let outcome = Result { () throws -> Void in
            let mode = try String.fetchOne(writer, sql: "PRAGMA journal_mode = DELETE")
            guard mode == "delete" else { return }
            try writer.execute(sql: "PRAGMA page_size = \(grownPageBytes); VACUUM")
        }
        try writer.execute(
            sql: """
                PRAGMA busy_timeout = \(lockMilliseconds);
                PRAGMA temp_store = DEFAULT;
                PRAGMA journal_mode = WAL;
                """)
        try outcome.get()
    }
}
