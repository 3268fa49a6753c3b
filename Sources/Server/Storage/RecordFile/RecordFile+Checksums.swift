import GRDB
import StratusRuntime
import StratusSQLite

extension RecordFile {
    /// The file's identity and commits, and a checksum for every row whose bytes are sent in answers. Existing rows get
    /// theirs now, so that every row has one.
    static func addMarks(world: World, identity: FileIdentity?) -> StoredFormat.Migration {
        StoredFormat.Migration("marks and checksums") { database in
            try database.execute(sql: FileIdentity.addColumns + checksumColumns)
            try FileStamp.write(
                identity ?? FileIdentity(address: "", identifier: world.randomNumber()),
                into: database)
            try addChecksums(to: database)
        }
    }

    private static let checksumColumns = """

        ALTER TABLE record ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE record_ancestor ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE subscription ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE applied_operation ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE outbox ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;
        """

    private static func addChecksums(to database: Database) throws {
        try addChecksums(
            to: "record", SQLiteTransaction.recordColumns, at: SQLiteTransaction.checksumColumn + 1,
            in: database
        ) { SQLiteTransaction.uncheckedRecord($0).checksum }
        try addChecksums(
            to: "record_ancestor", SQLiteTransaction.ancestorColumns, at: 9, in: database
        ) { SQLiteTransaction.uncheckedAncestor($0).checksum }
        try addChecksums(
            to: "applied_operation", "user, device, operation, outcome, checksum", at: 5,
            in: database
        ) { row in
            OperationKey(user: row.text(0), device: row.text(1), operation: row.text(2))
                .checksum(outcome: row.bytes(3))
        }
        try addChecksums(to: "outbox", "body, checksum", at: 2, in: database) { row in
            OutboxRow.checksum(body: row.bytes(0))
        }
        // The table has no rowid, and few rows.
        let transaction = SQLiteTransaction(database)
        for row in try transaction.uncheckedSubscriptions() { try transaction.put(row) }
    }

    /// - Parameter rowid: the number of the column after the others, which has each row's rowid.
    private static func addChecksums(
        to table: String, _ columns: String, at rowid: Int32, in database: Database,
        checksum: (SQLStatement) -> Int64
    ) throws {
        let select = try SQLStatement(
            database,
            "SELECT \(columns), rowid FROM \(table) WHERE rowid > ? ORDER BY rowid LIMIT 512")
        let update = try SQLStatement(
            database, "UPDATE \(table) SET checksum = ? WHERE rowid = ?")
        var last = Int64.min
        while true {
            // Only two numbers of each row are kept: payloads may be large.
            let rows = try select.bind(1, last).all { ($0.integer(rowid), checksum($0)) }
            guard let end = rows.last?.0 else { return }
            for (row, checksum) in rows { try update.bind(1, checksum).bind(2, row).run() }
            last = end
        }
    }

    /// The second field of compound indexes, and a checksum for every zone's row.
    static let addCompoundIndexesAndZoneChecksums = StoredFormat.Migration(
        "compound indexes and zones' checksums"
    ) { database in
        try database.execute(
            sql: compoundColumns
                + "ALTER TABLE zone ADD COLUMN checksum INTEGER NOT NULL DEFAULT 0;")
        try SQLiteTransaction(database).stampZones()
    }
}
