import GRDB

/// When and how a file gets larger pages: Documentation/Decisions/0015.
///
/// Every table and index has a page of its own from the start, so a file of forty has forty pages before
/// its first record. Small pages make that a quarter, and are slower where much is written. So a file
/// begins with small ones, and is rewritten once with SQLite's usual ones when it has grown.
struct PageGrowth: Sendable {
    /// SQLite's usual size.
    static let grownPageBytes = 4_096
    /// The size in a new file.
    static let newPageBytes = 1_024
    /// A file of more bytes gets the usual pages: about 100 records. Rewriting so many takes some
    /// milliseconds.
    private static let bytesBeforeGrowth = 128 * 1_024

    private(set) var pageBytes: Int
    /// From which size on it is tried; more after a try in vain.
    private var triedFromPages: Int

    init(pageBytes: Int) {
        self.pageBytes = pageBytes
        triedFromPages = Self.bytesBeforeGrowth / pageBytes
    }

    static func pageBytes(of database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "PRAGMA page_size") ?? grownPageBytes
    }

    /// Rewrites the file with larger pages, when it has grown and nobody reads.
    ///
    /// - Parameter logPages: Pages of the write-ahead log: where there are few, nothing is asked.
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
            // The file is whole, with the pages that it had. What is wrong with the disk shows in the
            // commits; another process that has the file open is waited for until the file is larger.
            triedFromPages *= 2
        }
    }

    /// SQLite changes the size of pages outside of a write-ahead log alone. Every step is atomic and durable,
    /// and a file that a crash leaves between them is opened like any other.
    private static func grow(_ writer: Database) throws {
        let lockMilliseconds = try Int.fetchOne(writer, sql: "PRAGMA busy_timeout") ?? 0
        // A command that has the file open is not waited for.
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
