import GRDB

extension StoredFormat {
    private static let synchronousFull = 2

    /// Opens a database file, makes it when it is not there, and migrates it. Waits for the disk.
    ///
    /// Every commit is on the disk before it returns: a write-ahead log with `synchronous=FULL`.
    ///
    /// - Parameter configuration: As ``configuration(_:forFileAt:)`` made it.
    /// - Throws: ``DatabaseRefusal``, and what GRDB throws.
    package func openFile(
        at path: String, configuration: Configuration
    ) throws -> (pool: DatabasePool, upgrade: FormatUpgrade?) {
        let pool = try DatabasePool(path: path, configuration: configuration)
        // GRDB has set NORMAL on its writer after preparing it. That does for the migrations: the first
        // commit with FULL waits for all of the log. It does not for what is acknowledged.
        let upgrade = try migrate(pool)
        try pool.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == Self.synchronousFull
            else { throw DatabaseRefusal.notDurable(path: path) }
        }
        return (pool, upgrade)
    }

    /// Makes a new database in memory, without files and on the caller's thread.
    package func openInMemory(configuration: Configuration) throws -> DatabaseQueue {
        let queue = try DatabaseQueue(configuration: configuration)
        _ = try migrate(queue)
        return queue
    }

    /// Makes a new database in memory as a copy of one that nobody has used: 0.2 ms in place of the 1.4 ms
    /// that migrations take.
    package func openInMemory(
        copying template: DatabaseQueue, configuration: Configuration
    ) throws -> DatabaseQueue {
        let queue = try DatabaseQueue(configuration: configuration)
        try template.inDatabase { template in
            try queue.inDatabase { copy in
                try template.backup(to: copy)
                try begin(copy)
            }
        }
        return queue
    }

    /// Adds to a configuration what every connection to a file of this format needs.
    package func configuration(
        _ configuration: Configuration, forFileAt path: String
    ) -> Configuration {
        var configuration = configuration
        configuration.prepareDatabase { [self] database in
            // Before GRDB turns the write-ahead log on, which changes the file.
            if !database.configuration.readonly { try check(database, path: path) }
            try database.execute(
                sql: """
                    PRAGMA synchronous = FULL;
                    PRAGMA fullfsync = ON;  -- Apple's platforms: through the drive's own cache.
                    PRAGMA checkpoint_fullfsync = ON;
                    """)
        }
        return configuration
    }
}
