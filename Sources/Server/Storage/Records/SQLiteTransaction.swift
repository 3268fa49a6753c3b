import GRDB
import StratusSQLite

/// A transaction of a database.
///
/// It throws GRDB's errors; ``SQLiteFile`` and ``SQLiteMemory`` translate them.
final class SQLiteTransaction: RecordTransaction {
    let database: Database
    /// Statements that run for each record; looked up once per transaction.
    private var putRecord: SQLStatement?
    private var recordByName: SQLStatement?
    private var putEntry: SQLStatement?
    private var deleteEntry: SQLStatement?

    /// The epoch in which this process writes the database; nil if it only reads.
    let writing: WritingEpoch?
    /// The epoch of what this transaction writes, once it has taken a version.
    var writtenEpoch: Epoch?
    /// The last version of the database that this transaction took.
    private(set) var takenVersion: Int64?

    init(_ database: Database, writing: WritingEpoch? = nil) {
        self.database = database
        self.writing = writing
    }

    func statement(_ sql: String) throws -> SQLStatement {
        try SQLStatement(database, sql)
    }

    func putRecordStatement(_ sql: String) throws -> SQLStatement {
        try statement(sql, in: &putRecord)
    }

    func recordByNameStatement(_ sql: String) throws -> SQLStatement {
        try statement(sql, in: &recordByName)
    }

    func putEntryStatement(_ sql: String) throws -> SQLStatement {
        try statement(sql, in: &putEntry)
    }

    func deleteEntryStatement(_ sql: String) throws -> SQLStatement {
        try statement(sql, in: &deleteEntry)
    }

    private func statement(_ sql: String, in kept: inout SQLStatement?) throws -> SQLStatement {
        if let kept { return kept }
        let statement = try statement(sql)
        kept = statement
        return statement
    }

    /// The rows of zones that changed after a version of the database, the earliest change first.
    func rows(
        _ columns: String, of table: String, changedAfter databaseVersion: Int64, limit: Int
    ) throws -> SQLStatement {
        try statement(
            """
            SELECT \(columns) FROM \(table) WHERE changed_at_database_version > ?
            ORDER BY changed_at_database_version LIMIT ?
            """
        )
        .bind(1, databaseVersion)
        .bind(2, Int64(max(limit, 1)))
    }

    // MARK: History

    var databaseVersion: Int64 {
        get throws {
            try existing(statement("SELECT version FROM history").first { $0.integer(0) })
        }
    }

    /// Counts one change of the database.
    ///
    /// The first change of a transaction makes sure that the database's newest epoch is this process's own.
    func takeDatabaseVersion() throws -> Int64 {
        // Without RETURNING, which creates a table for its one row.
        let (version, found) = try existing(
            statement("SELECT version + 1, epoch_number, epoch_identifier FROM history")
                .first { ($0.integer(0), Self.epoch($0, at: 1)) })
        try statement("UPDATE history SET version = ?").bind(1, version).run()
        if writtenEpoch == nil { try enterEpoch(after: found, at: version - 1) }
        takenVersion = version
        return version
    }

    func existing<Value>(_ row: Value?) throws -> Value {
        guard let row else {
            throw StorageError(
                .corrupt, "The database has no history row. Restore it from a backup.")
        }
        return row
    }
}

/// The epochs of the database and its zones.
extension SQLiteTransaction {
    private static let epochColumns = "number, identifier, start, started_ms"
    /// The key of the database itself among the zones, whose keys begin at 1.
    private static let databaseItself: Int64 = 0

    var epoch: Epoch {
        get throws {
            if let writtenEpoch { return writtenEpoch }
            return try existing(
                statement("SELECT epoch_number, epoch_identifier FROM history")
                    .first { Self.epoch($0, at: 0) })
        }
    }

    func epochs(
        of zone: ZoneRow.Key?, before version: Int64, limit: Int
    ) throws -> [EpochRow] {
        try statement(
            """
            SELECT \(Self.epochColumns) FROM epoch WHERE zone = ? AND start < ?
            ORDER BY number DESC LIMIT ?
            """
        )
        .bind(1, zone?.rawValue ?? Self.databaseItself)
        .bind(2, version)
        .bind(3, Int64(max(limit, 1)))
        .all(Self.epochRow)
    }

    func epochs(of zone: ZoneRow.Key?, from number: Int64, limit: Int) throws -> [EpochRow] {
        try statement(
            """
            SELECT \(Self.epochColumns) FROM epoch WHERE zone = ? AND number >= ?
            ORDER BY number LIMIT ?
            """
        )
        .bind(1, zone?.rawValue ?? Self.databaseItself)
        .bind(2, number)
        .bind(3, Int64(max(limit, 1)))
        .all(Self.epochRow)
    }

    // MARK: Beginning

    @discardableResult
    func beginEpoch() throws -> Epoch {
        try begin(after: epoch, at: databaseVersion)
    }

    /// Continues this process's epoch, or begins one.
    ///
    /// - Parameters:
    ///   - found: the newest epoch of the database.
    ///   - version: the database's version before this transaction.
    func enterEpoch(after found: Epoch, at version: Int64) throws {
        if try writer.goesOn(in: found, at: version) {
            writtenEpoch = found
        } else {
            try begin(after: found, at: version)
        }
    }

    @discardableResult
    private func begin(after old: Epoch, at version: Int64) throws -> Epoch {
        let row = try writer.begin(after: old, at: version)
        try insert(row, of: nil)
        try statement("UPDATE history SET epoch_number = ?, epoch_identifier = ?")
            .bind(1, row.epoch.number)
            .bind(2, Int64(bitPattern: row.epoch.identifier))
            .run()
        writtenEpoch = row.epoch
        return row.epoch
    }

    /// Notes that a zone is written in an epoch for the first time.
    func noteEpoch(of zone: ZoneRow.Key, at version: Int64) throws {
        let epoch = try epoch
        let row = EpochRow(
            epoch: epoch, startVersion: version, startedMilliseconds: try writer.nowMilliseconds)
        try insert(row, of: zone)
    }

    private func insert(_ row: EpochRow, of zone: ZoneRow.Key?) throws {
        try statement("INSERT INTO epoch (zone, \(Self.epochColumns)) VALUES (?, ?, ?, ?, ?)")
            .bind(1, zone?.rawValue ?? Self.databaseItself)
            .bind(2, row.epoch.number)
            .bind(3, Int64(bitPattern: row.epoch.identifier))
            .bind(4, row.startVersion)
            .bind(5, row.startedMilliseconds)
            .run()
    }

    private var writer: WritingEpoch {
        get throws {
            guard let writing else {
                throw StorageError(
                    .other, "A read transaction was asked to write. Use a write transaction.")
            }
            return writing
        }
    }

    // MARK: Merging

    @discardableResult
    func mergeEpochs(endedBefore milliseconds: Int64) throws -> Int {
        // Only the oldest of a database or zone are removed, so that none is missing between two
        // that stay.
        try statement(
            """
            DELETE FROM epoch WHERE number < (
                SELECT max(number) FROM epoch AS later
                WHERE later.zone = epoch.zone AND later.started_ms < ?)
            """
        )
        .bind(1, milliseconds)
        .run()
        let count = database.changesCount
        guard count > 0 else { return 0 }
        try statement(
            """
            UPDATE epoch SET start = 0 WHERE start > 0 AND NOT EXISTS (
                SELECT 1 FROM epoch AS earlier
                WHERE earlier.zone = epoch.zone AND earlier.number < epoch.number)
            """
        ).run()
        return count
    }

    static func epoch(_ row: SQLStatement, at column: Int32) -> Epoch {
        Epoch(
            number: row.integer(column),
            identifier: UInt64(bitPattern: row.integer(column + 1)))
    }

    private static func epochRow(_ row: SQLStatement) -> EpochRow {
        EpochRow(
            epoch: epoch(row, at: 0), startVersion: row.integer(2),
            startedMilliseconds: row.integer(3))
    }
}

/// The outcomes of requests.
extension SQLiteTransaction {
    func outcome(of operation: OperationKey) throws -> [UInt8]? {
        try statement(
            """
            SELECT outcome, checksum FROM applied_operation
            WHERE user = ? AND device = ? AND operation = ?
            """
        )
        .bind(1, operation.user)
        .bind(2, operation.device)
        .bind(3, operation.operation)
        .first { row in
            let outcome = row.bytes(0)
            guard row.integer(1) == operation.checksum(outcome: outcome) else {
                throw StorageError.damaged(
                    DamagedRow(kind: "outcome of a request", name: operation.operation))
            }
            return outcome
        }
    }

    func put(outcome: [UInt8], of operation: OperationKey, expiresMilliseconds: Int64) throws {
        try statement("INSERT OR REPLACE INTO applied_operation VALUES (?, ?, ?, ?, ?, ?)")
            .bind(1, operation.user)
            .bind(2, operation.device)
            .bind(3, operation.operation)
            .bind(4, outcome)
            .bind(5, expiresMilliseconds)
            .bind(6, operation.checksum(outcome: outcome))
            .run()
    }

    func deleteOutcomes(expiredAt milliseconds: Int64) throws {
        // Up to the time of the thousandth: a list of rows would be a table of its own for each request.
        try statement(
            """
            DELETE FROM applied_operation WHERE expires_ms <= coalesce(
                (SELECT expires_ms FROM applied_operation WHERE expires_ms <= ?1
                    ORDER BY expires_ms LIMIT 1 OFFSET 999), ?1)
            """
        )
        .bind(1, milliseconds)
        .run()
    }
}
