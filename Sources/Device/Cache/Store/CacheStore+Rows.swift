import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// Single rows, inside a transaction.
extension CacheStore {
    func zone(_ id: ZoneID, _ database: Database) throws -> ZoneRow? {
        let statement = try database.cachedStatement(
            sql: "SELECT \(ZoneRow.columns) FROM zone WHERE \(isHere) AND name = ? AND owner = ?")
        return try Row.fetchOne(statement, arguments: [id.name, id.ownerName]).map { ZoneRow($0) }
    }

    /// The row of a zone, made if need be.
    func zone(_ id: ZoneID, orMake state: ZoneRow.State, _ database: Database) throws -> ZoneRow {
        if let row = try zone(id, database) { return row }
        try database.cachedStatement(
            sql: "INSERT INTO zone (database, name, owner, state) VALUES (?, ?, ?, ?)"
        ).execute(arguments: [scope.rawValue, id.name, id.ownerName, state.rawValue])
        guard let row = try zone(id, database) else {
            throw CacheError(
                .damaged, "A zone cannot be stored in the cache file. Delete the file.")
        }
        return row
    }

    func setState(_ state: ZoneRow.State, of row: ZoneRow, _ database: Database) throws {
        try database.cachedStatement(sql: "UPDATE zone SET state = ? WHERE id = ?")
            .execute(arguments: [state.rawValue, row.key])
    }

    func record(_ name: String, _ zone: ZoneRow, _ database: Database) throws -> RecordSnapshot? {
        let statement = try database.cachedStatement(
            sql: "SELECT \(RecordSnapshot.columns) FROM record WHERE \(CacheFormat.isNamed)")
        return try Row.fetchOne(
            statement, arguments: [zone.key, NameHash.of(name), name]
        ).map { row in
            try RecordSnapshot(
                row, id: RecordID(name: name, zoneID: zone.id), type: row[0], at: 1)
        }
    }

    func pending(_ name: String, _ zone: ZoneRow, _ database: Database) throws -> PendingRow? {
        let statement = try database.cachedStatement(
            sql: "SELECT \(PendingRow.columns) FROM pending WHERE zone = ? AND name = ?")
        return try Row.fetchOne(statement, arguments: [zone.key, name]).map { row in
            try PendingRow(row, zone: zone.id)
        }
    }

    // MARK: What was here

    /// Whether a record was here and was deleted; says nothing of one that is here.
    func hasTombstone(of id: RecordID, _ database: Database) throws -> Bool {
        try hasTombstone(id.zoneID, id.name, database)
    }

    /// Whether a zone was here and was deleted; says nothing of one that is here.
    func hasTombstone(of zone: ZoneID, _ database: Database) throws -> Bool {
        try hasTombstone(zone, "", database)
    }

    private func hasTombstone(
        _ zone: ZoneID, _ name: String, _ database: Database
    ) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: """
                SELECT EXISTS (
                    SELECT 1 FROM tombstone
                    WHERE \(isHere) AND owner = ? AND zone = ? AND name = ?)
                """)
        return try Bool.fetchOne(statement, arguments: [zone.ownerName, zone.name, name]) ?? false
    }

    /// - Parameters:
    ///   - milliseconds: when it was deleted here; nil for what others deleted.
    ///   - madeAnew: which of the records of its name it was.
    func addTombstone(
        _ zone: ZoneID, _ name: String, deleted milliseconds: Int64? = nil, madeAnew: Int64? = nil,
        _ database: Database
    ) throws {
        try database.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO tombstone (database, owner, zone, name, deleted, madeAnew)
                VALUES (?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            scope.rawValue, zone.ownerName, zone.name, name, milliseconds, madeAnew,
        ])
    }

    /// Remembers that a zone was here; that speaks for its records too.
    ///
    /// - Parameter milliseconds: when it was deleted here; nil for what others deleted, which takes no time away.
    func addTombstone(
        of zone: ZoneID, deleted milliseconds: Int64?, _ database: Database
    ) throws {
        let known = try milliseconds ?? deletionMilliseconds(ofZone: zone, database)
        try database.execute(
            sql: "DELETE FROM tombstone WHERE \(isHere) AND owner = ? AND zone = ?",
            arguments: [zone.ownerName, zone.name])
        try addTombstone(zone, "", deleted: known, database)
    }

    func removePending(_ row: PendingRow, _ database: Database) throws {
        try database.cachedStatement(sql: "DELETE FROM pending WHERE sequence = ?")
            .execute(arguments: [row.sequence])
    }

    /// Writes a pending change that exists; edits keep their place in the queue.
    func update(_ row: PendingRow, _ database: Database) throws {
        try database.cachedStatement(
            sql: """
                UPDATE pending SET kind = ?, generation = ?, edited = ?, baseType = ?,
                    baseSystem = ?, baseParent = ?, baseFields = ?, earlier = ?, rounds = ?,
                    attempts = ?, errorCode = ?, errorMessage = ?, isMadeAnew = ?, isUncertain = ?
                WHERE sequence = ?
                """
        ).execute(arguments: [
            row.change.kind.rawValue, row.change.generation, row.editedMilliseconds,
            row.base?.type, row.base?.systemData, row.base?.parentRecordName,
            row.base?.fieldsData, SentMarks.data(row.earlier), row.change.conflictRounds,
            row.change.attempts, row.failure?.code.rawValue, row.failure?.message,
            row.isMadeAnew, row.delivery.rawValue, row.sequence,
        ])
    }

    /// Queues a change of a record that has none.
    func queue(
        _ kind: PendingChange.Kind, _ name: String, _ zone: ZoneRow, base: RecordSnapshot?,
        editedMilliseconds: Int64, isMadeAnew: Bool = false, _ database: Database
    ) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO pending (zone, name, kind, generation, edited, baseType, baseSystem,
                    baseParent, baseFields, isMadeAnew)
                VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            zone.key, name, kind.rawValue, editedMilliseconds, base?.type, base?.systemData,
            base?.parentRecordName, base?.fieldsData, isMadeAnew,
        ])
        if isMadeAnew { try needFetch(of: zone, database) }
    }

    /// Lets a zone be fetched before long, also after a restart.
    func needFetch(of zone: ZoneRow, _ database: Database) throws {
        try database.cachedStatement(sql: "UPDATE zone SET needsFetch = 1 WHERE id = ?")
            .execute(arguments: [zone.key])
    }

    func flag(_ flag: CacheFlag, _ database: Database) throws -> String? {
        try String.fetchOne(
            database.cachedStatement(
                sql: "SELECT value FROM flag WHERE database = ? AND name = ?"),
            arguments: [flag.isOfFile ? 0 : scope.rawValue, flag.rawValue])
    }

    func setFlag(_ flag: CacheFlag, _ value: String?, _ database: Database) throws {
        try database.cachedStatement(
            sql: "INSERT OR REPLACE INTO flag (database, name, value) VALUES (?, ?, ?)"
        ).execute(
            arguments: [flag.isOfFile ? 0 : scope.rawValue, flag.rawValue, value])
    }
}

/// What is said once, of a database or of the file as a whole.
enum CacheFlag: String {
    case databaseToken
    case isSubscriptionSaved
    /// The user whose file this is.
    case userRecordName
    /// The service has lost track of what this device knows.
    case isDatabaseTokenExpired
    /// By how many milliseconds the service's clock is ahead of this device's.
    case clockOffset
    /// By how many milliseconds the times of edits were moved that were made before any answer was heard.
    case firstClockOffset
    /// Syncing is turned off.
    case isDisabled
    /// Records were made while nobody was signed in, before the file was anybody's.
    case isMadeByNobody
    /// All zones of the service go, those too that this device does not know.
    case isErasing
    /// What the service's last answer told of the account: a `CacheAccount`.
    case account
    /// When changes were fetched last, and when one was confirmed.
    case lastFetch
    case lastSend

    var isOfFile: Bool {
        [.userRecordName, .isDisabled, .isMadeByNobody, .account].contains(self)
    }
}
