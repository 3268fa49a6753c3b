import GRDB

/// The kind of a database and the migrations that lead from an empty one to the current tables.
///
/// SQLite's `application_id` is the kind of the database, its `user_version` the number of migrations that it has had:
/// that number is its format. Both are read before anything is changed, so that a database of a newer format is refused
/// untouched and one of the current format costs no further read. GRDB's `DatabaseMigrator` runs the missing
/// migrations, each in a transaction of its own. Documentation/Decisions/0013 says why the number and not the
/// migrator's own table decides.
package struct StoredFormat: Sendable {
    /// One step. It is never changed after a release; new tables come with new migrations, and with a
    /// fixture of the format that they lead to (Tests/Fixtures/Formats).
    package struct Migration: Sendable {
        /// The name in the database's `grdb_migrations`; unique within a format.
        package var identifier: String
        package var migrate: @Sendable (Database) throws -> Void

        package init(_ identifier: String, _ migrate: @escaping @Sendable (Database) throws -> Void)
        {
            self.identifier = identifier
            self.migrate = migrate
        }

        package init(_ identifier: String, sql: String) {
            self.init(identifier) { try $0.execute(sql: sql) }
        }
    }

    package var applicationID: Int32
    /// In the order in which they run.
    package var migrations: [Migration]
    /// Formats whose databases have no `application_id`, as early releases created them.
    package var unmarkedFormats: ClosedRange<Int>?
    /// Writes the rows that every database of this kind begins with, in the transaction of the first migration. It must
    /// also work on the tables of every later format, replacing rows that it wrote before: a database in memory is a
    /// copy (``openInMemory(copying:configuration:)``).
    package var begin: @Sendable (Database) throws -> Void

    package init(
        applicationID: Int32, migrations: [Migration], unmarkedFormats: ClosedRange<Int>? = nil,
        begin: @escaping @Sendable (Database) throws -> Void = { _ in }
    ) {
        self.applicationID = applicationID
        self.migrations = migrations
        self.unmarkedFormats = unmarkedFormats
        self.begin = begin
    }

    /// The newest format that this release knows.
    package var newest: Int { migrations.count }

    /// Refuses databases that are not of this kind or have a newer format. Reads only.
    ///
    /// - Throws: ``DatabaseRefusal``.
    package func check(_ database: Database, path: String) throws {
        let format = try Self.format(of: database)
        if try Self.integer("application_id", of: database) == Int(applicationID) {
            guard format <= newest else {
                throw DatabaseRefusal.newerFormat(path: path, found: format, newestKnown: newest)
            }
            return
        }
        let isMarked = try Self.integer("application_id", of: database) != 0
        if !isMarked, unmarkedFormats?.contains(format) == true { return }
        guard format == 0, !isMarked, try Self.isEmpty(database) else {
            throw DatabaseRefusal.otherKind(path: path)
        }
    }

    /// Whether nothing was made in a database yet.
    ///
    /// The migrator's own table may exist without a row: it is made in a transaction before the first
    /// migration's, and the process may have ended between them.
    private static func isEmpty(_ database: Database) throws -> Bool {
        let others = try Row.fetchOne(
            database, sql: "SELECT 1 FROM sqlite_schema WHERE tbl_name <> 'grdb_migrations' LIMIT 1"
        )
        guard others == nil else { return false }
        guard try database.tableExists("grdb_migrations") else { return true }
        return try Row.fetchOne(database, sql: "SELECT 1 FROM grdb_migrations LIMIT 1") == nil
    }

    /// Whether no migration is missing. Databases of another kind were refused before.
    package func isOfNewestFormat(_ database: Database) throws -> Bool {
        try Self.format(of: database) >= newest
    }

    /// Runs the missing migrations.
    ///
    /// - Returns: The formats before and after; nil when none was missing.
    package func migrate(_ writer: some DatabaseWriter) throws -> FormatUpgrade? {
        let found = try writer.writeWithoutTransaction { try Self.format(of: $0) }
        guard found < newest else { return nil }
        if found > 0 { try writer.write { try noteApplied(found, in: $0) } }
        var migrator = DatabaseMigrator()
        for (index, migration) in migrations.enumerated() {
            let stamp = """
                PRAGMA application_id = \(applicationID);
                PRAGMA user_version = \(index + 1);
                """
            migrator.registerMigration(migration.identifier) { [begin] database in
                try migration.migrate(database)
                if index == 0 { try begin(database) }
                try database.execute(sql: stamp)
            }
        }
        try migrator.migrate(writer)
        return FormatUpgrade(from: found, to: newest)
    }

    /// Writes the format into the migrator's table, which earlier releases did not have.
    private func noteApplied(_ count: Int, in database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE IF NOT EXISTS grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)
                """)
        for migration in migrations.prefix(count) {
            try database.execute(
                sql: "INSERT OR IGNORE INTO grdb_migrations VALUES (?)",
                arguments: [migration.identifier])
        }
    }

    private static func format(of database: Database) throws -> Int {
        try integer("user_version", of: database)
    }

    private static func integer(_ pragma: String, of database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "PRAGMA \(pragma)") ?? 0
    }
}

/// The formats before and after migrations.
package struct FormatUpgrade: Hashable, Sendable {
    /// 0 for a database that was empty.
    package var from: Int
    package var to: Int

    package init(from: Int, to: Int) {
        self.from = from
        self.to = to
    }
}

/// Why a database is refused although SQLite could read it.
package enum DatabaseRefusal: Error, Hashable, Sendable {
    /// A database of another program, or of another kind.
    case otherKind(path: String)
    /// A newer release wrote it.
    case newerFormat(path: String, found: Int, newestKnown: Int)
    /// SQLite did not accept `synchronous=FULL`: a power cut could undo acknowledged commits.
    case notDurable(path: String)
}
