import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSQLite
import StratusSync

/// Single rows, inside a transaction.
extension CacheStore {
    func zone(_ id: ZoneID, _ database: Database) throws -> CachedZoneRow? {
        try SQLStatement(
            database,
            "SELECT \(CachedZoneRow.columns) FROM zone WHERE \(isHere) AND name = ? AND owner = ?"
        ).bind(1, id.name).bind(2, id.ownerName).first { try CachedZoneRow($0) }
    }

    /// The row of a zone, inserted if it does not exist.
    func zone(_ id: ZoneID, orMake state: CachedZoneRow.State, _ database: Database) throws
        -> CachedZoneRow
    {
        if let row = try zone(id, database) { return row }
        try SQLStatement(
            database, "INSERT INTO zone (database, name, owner, state) VALUES (?, ?, ?, ?)"
        ).bind(1, Int64(scope.rawValue)).bind(2, id.name).bind(3, id.ownerName)
            .bind(4, Int64(state.rawValue)).run()
        guard let row = try zone(id, database) else {
            throw CacheError(
                .damaged,
                "The zone \(id.name) cannot be stored in the cache's file \(file.path). Delete the file;"
                    + " unsent changes in it are lost.")
        }
        return row
    }

    func setState(_ state: CachedZoneRow.State, of row: CachedZoneRow, _ database: Database) throws
    {
        try database.cachedStatement(sql: "UPDATE zone SET state = ? WHERE id = ?")
            .execute(arguments: [state.rawValue, row.key])
    }

    func record(_ name: String, _ zone: CachedZoneRow, _ database: Database) throws
        -> RecordSnapshot?
    {
        let statement = try database.cachedStatement(
            sql: "SELECT \(RecordSnapshot.columns) FROM record WHERE \(CacheFormat.isNamed)")
        return try Row.fetchOne(
            statement, arguments: [zone.key, NameHash.of(name), name]
        ).map { row in
            try RecordSnapshot(
                row, id: RecordID(name: name, zoneID: zone.id),
                type: try row.decode(atIndex: 0), at: 1)
        }
    }

    func pending(_ name: String, _ zone: CachedZoneRow, _ database: Database) throws -> PendingRow?
    {
        let statement = try database.cachedStatement(
            sql: "SELECT \(PendingRow.columns) FROM pending WHERE zone = ? AND name = ?")
        return try Row.fetchOne(statement, arguments: [zone.key, name]).map { row in
            try PendingRow(row, zone: zone.id)
        }
    }

    // MARK: Tombstones

    /// Whether a record was here and was deleted; meaningless for a record that is here.
    func hasTombstone(of id: RecordID, _ database: Database) throws -> Bool {
        try hasTombstone(id.zoneID, id.name, database)
    }

    /// Whether a zone was here and was deleted; meaningless for a zone that is here.
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

    /// When the record that was deleted last under a name had been created under a reused name; nil for the first of
    /// its name.
    func recreatedMilliseconds(ofDeleted id: RecordID, _ database: Database) throws -> Int64? {
        try Int64?.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT madeAnew FROM tombstone
                    WHERE \(isHere) AND owner = ? AND zone = ? AND name = ?
                    """),
            arguments: [id.zoneID.ownerName, id.zoneID.name, id.name]) ?? nil
    }

    /// Whether a record that was deleted has been at the service.
    func wasThere(_ id: RecordID, _ database: Database) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: """
                SELECT EXISTS (
                    SELECT 1 FROM tombstone
                    WHERE \(isHere) AND owner = ? AND zone = ? AND name = ? AND version IS NOT 0)
                """)
        return try Bool.fetchOne(
            statement, arguments: [id.zoneID.ownerName, id.zoneID.name, id.name]) ?? false
    }

    /// - Parameters:
    ///   - milliseconds: when it was deleted here; nil if it was deleted elsewhere.
    ///   - recreated: when the deleted record was created again; nil for the first of its name.
    ///   - version: the version at which the service has the deletion; see `CacheFormat.versionsOfDeletions`.
    func addTombstone(
        _ zone: ZoneID, _ name: String, deleted milliseconds: Int64? = nil, recreated: Int64? = nil,
        version: Int64? = nil, _ database: Database
    ) throws {
        // A record that may have been sent under the name before may still return.
        try database.cachedStatement(
            sql: """
                INSERT OR REPLACE INTO tombstone
                    (database, owner, zone, name, deleted, madeAnew, version, sent)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, (SELECT sent FROM tombstone
                    WHERE database = ?1 AND owner = ?2 AND zone = ?3 AND name = ?4))
                """
        ).execute(arguments: [
            scope.rawValue, zone.ownerName, zone.name, name, milliseconds, recreated, version,
        ])
    }

    /// Adds the tombstone of a zone, which stands for its records too.
    ///
    /// - Parameter milliseconds: when it was deleted here; nil if it was deleted elsewhere, which
    ///   keeps a known time.
    func addTombstone(
        of zone: ZoneID, deleted milliseconds: Int64?, _ database: Database
    ) throws {
        let known = try milliseconds ?? deletionMilliseconds(ofZone: zone, database)
        try database.execute(
            sql: "DELETE FROM tombstone WHERE \(isHere) AND owner = ? AND zone = ?",
            arguments: [zone.ownerName, zone.name])
        try addTombstone(zone, "", deleted: known, database)
    }

    /// The marks of the values that an edit replaces in a new record that may have arrived.
    func marksOfTimes(_ old: RecordSnapshot, replacedBy new: RecordSnapshot) -> [UInt64] {
        let kept = Set(marksOfTimes(new))
        return marksOfTimes(old).filter { !kept.contains($0) }
    }

    func marksOfTimes(_ record: RecordSnapshot) -> [UInt64] {
        fieldTimesKey(ofType: record.type).map {
            record.marksOfTimes(in: $0, rules: resolver.fieldRules)
        } ?? []
    }

    func removePending(_ row: PendingRow, _ database: Database) throws {
        try database.cachedStatement(sql: "DELETE FROM pending WHERE sequence = ?")
            .execute(arguments: [row.sequence])
    }

    /// Updates a pending change, which keeps its place in the queue.
    func update(_ row: PendingRow, _ database: Database) throws {
        try database.cachedStatement(
            sql: """
                UPDATE pending SET kind = ?, generation = ?, edited = ?, baseType = ?,
                    baseSystem = ?, baseParent = ?, baseFields = ?, earlier = ?, rounds = ?,
                    attempts = ?, errorCode = ?, errorMessage = ?, isMadeAnew = ?, isUncertain = ?,
                    isSentAgain = ?, isMoved = ?
                WHERE sequence = ?
                """
        ).execute(arguments: [
            row.change.kind.rawValue, row.change.generation, row.editedMilliseconds,
            row.base?.type, row.base?.systemData, row.base?.parentRecordName,
            row.base?.fieldsData, SentMarks.data(row.earlier), row.change.conflictRounds,
            row.change.attempts, row.failure?.code.rawValue, row.failure?.message,
            row.isRecreated, row.delivery.rawValue, row.isSentAgain, row.isMoved, row.sequence,
        ])
    }

    /// Queues a change of a record without a pending one.
    func queue(
        _ kind: PendingChange.Kind, _ name: String, _ zone: CachedZoneRow, base: RecordSnapshot?,
        editedMilliseconds: Int64, isRecreated: Bool = false, isSentAgain: Bool = false,
        isMoved: Bool = false, _ database: Database
    ) throws {
        try database.cachedStatement(
            sql: """
                INSERT INTO pending (zone, name, kind, generation, edited, baseType, baseSystem,
                    baseParent, baseFields, isMadeAnew, isSentAgain, isMoved)
                VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            zone.key, name, kind.rawValue, editedMilliseconds, base?.type, base?.systemData,
            base?.parentRecordName, base?.fieldsData, isRecreated, isSentAgain, isMoved,
        ])
        if isRecreated { try needFetch(of: zone, database) }
    }

    /// Marks a zone to be fetched soon, also after a restart.
    func needFetch(of zone: CachedZoneRow, _ database: Database) throws {
        try database.cachedStatement(sql: "UPDATE zone SET needsFetch = 1 WHERE id = ?")
            .execute(arguments: [zone.key])
    }

    func needsFetch(_ zone: CachedZoneRow, _ database: Database) throws -> Bool {
        try SQLStatement(database, "SELECT needsFetch FROM zone WHERE id = ?").bind(1, zone.key)
            .first { $0.integer(0) != 0 } ?? false
    }

    func flag(_ flag: CacheFlag, _ database: Database) throws -> String? {
        try CacheFlag.value(
            named: flag.rawValue, ofDatabase: flag.isOfFile ? 0 : scope.rawValue, database)
    }

    func setFlag(_ flag: CacheFlag, _ value: String?, _ database: Database) throws {
        try CacheFlag.set(
            value, named: flag.rawValue, ofDatabase: flag.isOfFile ? 0 : scope.rawValue, database)
    }

    // MARK: Flags with names of their own

    func text(named name: String, _ database: Database) throws -> String? {
        try CacheFlag.value(named: name, ofDatabase: scope.rawValue, database)
    }

    func setText(_ text: String?, named name: String, _ database: Database) throws {
        if let text {
            try CacheFlag.set(text, named: name, ofDatabase: scope.rawValue, database)
        } else {
            try CacheFlag.remove(named: name, ofDatabase: scope.rawValue, database)
        }
    }
}

extension CacheFlag {
    /// The value stored under a name, for the file (0) or one of its databases.
    static func value(
        named name: String, ofDatabase scope: Int, _ database: Database
    ) throws -> String? {
        try SQLStatement(database, "SELECT value FROM flag WHERE database = ? AND name = ?")
            .bind(1, Int64(scope)).bind(2, name).first { $0.optionalText(0) } ?? nil
    }

    static func set(
        _ value: String?, named name: String, ofDatabase scope: Int, _ database: Database
    ) throws {
        try SQLStatement(
            database, "INSERT OR REPLACE INTO flag (database, name, value) VALUES (?, ?, ?)"
        ).bind(1, Int64(scope)).bind(2, name).bind(3, value).run()
    }

    static func remove(named name: String, ofDatabase scope: Int, _ database: Database) throws {
        try SQLStatement(database, "DELETE FROM flag WHERE database = ? AND name = ?")
            .bind(1, Int64(scope)).bind(2, name).run()
    }
}

extension RecordSnapshot {
    /// The records whose deletion makes the service delete this one.
    var deleteSelfNames: Set<String> {
        Set(fields.flatMap(\.references).filter { $0.action == .deleteSelf }.map(\.recordName))
    }

    /// Those of a former state whose deletion no longer deletes this one.
    func deleteSelfNames(leftSince base: RecordSnapshot) -> Set<String> {
        let names = base.deleteSelfNames
        return names.isEmpty ? names : names.subtracting(deleteSelfNames)
    }
}
