import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// All writes to the table `record`: its rows are written only here, inside a transaction of
/// `CacheStore.write`, and derived rows are updated in the same step.
extension CacheStore {
    static let insertSQL = """
        INSERT INTO record (zone, nameHash, name, type, system, parent, fields, pass)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """

    /// - Parameter isEdit: whether the record was changed here, so that a full fetch under way has not received it.
    func put(
        _ record: RecordSnapshot, isEdit: Bool = false, _ zone: CachedZoneRow, _ database: Database
    ) throws {
        let key =
            try update(record, pass: isEdit ? nil : zone.pass, zone, database)
            ?? insert(record, isEdit: isEdit, zone, database)
        if var type = try file.types(database)[record.type],
            try type.index(record, key: key, zoneKey: zone.key, database)
        {
            try file.update(type, database)
        }
        try maintain(.put(record), key, record.id, database)
    }

    /// - Parameter pass: the full fetch that received the record; if nil, the known one is kept.
    /// - Returns: the key of the row; nil if there is no record of that name.
    private func update(
        _ record: RecordSnapshot, pass: Int64?, _ zone: CachedZoneRow, _ database: Database
    ) throws -> Int64? {
        let statement = try database.cachedStatement(
            sql: """
                UPDATE record SET type = ?, system = ?, parent = ?, fields = ?,
                    pass = coalesce(?, pass)
                WHERE \(CacheFormat.isNamed) RETURNING id
                """)
        let name = record.id.name
        return try Int64.fetchOne(
            statement,
            arguments: [
                record.type, record.systemData, record.parentRecordName, record.fieldsData,
                pass, zone.key, NameHash.of(name), name,
            ])
    }

    private func insert(
        _ record: RecordSnapshot, isEdit: Bool, _ zone: CachedZoneRow, _ database: Database
    ) throws -> Int64 {
        // A record that the service once had may have been deleted there.
        let isReceived =
            try !isEdit || record.system == nil || wasReceived(record.id.name, zone, database)
        try database.cachedStatement(sql: Self.insertSQL).execute(arguments: [
            zone.key, NameHash.of(record.id.name), record.id.name, record.type, record.systemData,
            record.parentRecordName, record.fieldsData, isReceived ? zone.pass : zone.pass - 1,
        ])
        return database.lastInsertedRowID
    }

    private func receivedPrefix(_ zone: CachedZoneRow) -> String { "received/\(zone.key)/" }

    /// Notes that the running full fetch received a record that is deleted here: if the deletion is discarded, the
    /// record is not missing at the end of the fetch.
    func noteReceived(_ name: String, _ zone: CachedZoneRow, _ database: Database) throws {
        guard zone.isRefetching else { return }
        try setText("\(zone.pass)", named: receivedPrefix(zone) + name, database)
    }

    /// Whether the running full fetch received a record that was deleted here at that time.
    func wasReceived(_ name: String, _ zone: CachedZoneRow, _ database: Database) throws -> Bool {
        try zone.isRefetching
            && text(named: receivedPrefix(zone) + name, database) == "\(zone.pass)"
    }

    func forgetReceived(in zone: CachedZoneRow, _ database: Database) throws {
        try database.execute(
            sql: "DELETE FROM flag WHERE \(isHere) AND name LIKE '\(receivedPrefix(zone))%'")
    }

    /// Inserts a new record as it was received; its derived rows and observers are brought up to date from
    /// `CacheOutcome.fetched`.
    ///
    /// - Parameter types: the declared types in the transaction.
    /// - Returns: whether it was inserted; false, without a write, if there is a record of its
    ///   name.
    func insert(
        _ row: FetchedRow, _ zone: CachedZoneRow, by writer: borrowing FetchedRowWriter,
        _ types: inout [String: IndexedType], _ database: Database
    ) throws -> Bool {
        guard let key = try writer.insert(row) else { return false }
        if !types.isEmpty, var type = types[row.type],
            try type.index(
                row.snapshot(in: zone.id), key: key, zoneKey: zone.key, isNew: true, database)
        {
            try file.update(type, database)
            types[row.type] = type
        }
        return true
    }

    /// Writes the system fields of a record whose fields stay unchanged.
    func putSystem(
        _ system: RecordSnapshot.SystemFields?, of name: String, _ zone: CachedZoneRow,
        _ database: Database
    ) throws {
        let statement = try database.cachedStatement(
            sql: """
                UPDATE record SET system = ?, pass = ? WHERE \(CacheFormat.isNamed)
                RETURNING id, type
                """)
        let row = try Row.fetchOne(
            statement,
            arguments: [
                system.map { StoredSystem.encode($0) }, zone.pass, zone.key, NameHash.of(name),
                name,
            ])
        guard let row else { return }
        let key: Int64 = try row.decode(atIndex: 0)
        try indexSystem(system, key, ofType: try row.decode(atIndex: 1), database)
        try maintain(.system, key, RecordID(name: name, zoneID: zone.id), database)
    }

    /// Notes that a full fetch contained a record that is unchanged; derived rows stay the same.
    func putPass(of name: String, _ zone: CachedZoneRow, _ database: Database) throws {
        try database.cachedStatement(
            sql: "UPDATE record SET pass = ? WHERE \(CacheFormat.isNamed)"
        ).execute(arguments: [zone.pass, zone.key, NameHash.of(name), name])
    }

    /// Removes the system fields of a zone's records.
    func removeSystem(ofRecordsIn zone: CachedZoneRow, _ database: Database) throws {
        let statement = try database.cachedStatement(
            sql: "UPDATE record SET system = NULL WHERE zone = ? RETURNING id, name, type")
        for row in try Row.fetchAll(statement, arguments: [zone.key]) {
            let key: Int64 = try row.decode(atIndex: 0)
            let id = RecordID(name: try row.decode(atIndex: 1), zoneID: zone.id)
            try indexSystem(nil, key, ofType: try row.decode(atIndex: 2), database)
            try maintain(.system, key, id, database)
        }
    }

    /// Removes a record, and adds its tombstone.
    ///
    /// - Parameters:
    ///   - milliseconds: when it was deleted here; nil if it was deleted elsewhere.
    ///   - isKnownThere: false for a record that never was at the service.
    ///   - keepsTombstone: whether the tombstone of a former record of the name stays unchanged.
    /// - Returns: whether the record was here.
    @discardableResult
    func removeRecord(
        _ name: String, _ zone: CachedZoneRow, deleted milliseconds: Int64? = nil,
        isKnownThere: Bool = true, keepsTombstone: Bool = false, _ database: Database
    ) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: """
                DELETE FROM record WHERE \(CacheFormat.isNamed)
                RETURNING id, \(RecordSnapshot.columns)
                """)
        let id = RecordID(name: name, zoneID: zone.id)
        guard
            let row = try Row.fetchOne(
                statement, arguments: [zone.key, NameHash.of(name), name])
        else { return false }
        let removed = try RecordSnapshot(row, id: id, type: try row.decode(atIndex: 1), at: 2)
        try maintain(.removed, try row.decode(atIndex: 0), id, database)
        if try keepsTombstone && hasTombstone(of: id, database) { return true }
        let version: Int64? = milliseconds == nil ? .max : isKnownThere ? nil : 0
        try addTombstone(
            zone.id, name, deleted: milliseconds, recreated: recreatedMilliseconds(removed),
            version: version, database)
        return true
    }

    /// Removes all records of a zone; the zone gets a tombstone if it should have one.
    ///
    /// - Returns: the removed records.
    @discardableResult
    func removeRecords(of zone: CachedZoneRow, _ database: Database) throws -> [RecordID] {
        let statement = try database.cachedStatement(
            sql: "DELETE FROM record WHERE zone = ? RETURNING id, name")
        return try Row.fetchAll(statement, arguments: [zone.key]).map { row in
            let id = RecordID(name: try row.decode(atIndex: 1), zoneID: zone.id)
            try maintain(.removed, try row.decode(atIndex: 0), id, database)
            return id
        }
    }

    private func indexSystem(
        _ system: RecordSnapshot.SystemFields?, _ key: Int64, ofType recordType: String,
        _ database: Database
    ) throws {
        guard var type = try file.types(database)[recordType],
            try type.indexSystem(system, key: key, database)
        else { return }
        try file.update(type, database)
    }

    /// Updates the rows that are derived from a record's row; add a call here for new ones.
    ///
    /// - Parameter key: `record.id`. If the record was deleted, rows that refer to it with `ON
    ///   DELETE CASCADE` are deleted already.
    private func maintain(
        _ written: WrittenRow, _ key: Int64, _ id: RecordID, _ database: Database
    ) throws {
        writtenRows.withLock { rows in
            // A record that was written and then confirmed in one transaction still has new fields.
            if case .system = written, rows[id]?.hasFields == true { return }
            rows[id] = written
        }
    }
}
