import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// A transaction's change of a record's row.
enum WrittenRow: Sendable {
    /// The record was written; this is its new state.
    indirect case put(RecordSnapshot)
    /// The record was stored as it was received.
    case fetched(FetchedRow)
    /// Only its system fields changed.
    case system
    case removed

    var hasFields: Bool {
        switch self {
        case .put, .fetched: true
        case .system, .removed: false
        }
    }
}

/// All writes to the table `record`: its rows are written only here, inside a transaction of
/// `CacheStore.write`, and derived rows are updated in the same step.
extension CacheStore {
    func put(_ record: RecordSnapshot, _ zone: ZoneRow, _ database: Database) throws {
        let statement = try database.cachedStatement(
            sql: """
                INSERT INTO record (zone, name, type, system, parent, fields, pass)
                VALUES (?, ?, ?, ?, ?, ?, ?)
                ON CONFLICT (zone, name) DO UPDATE SET type = excluded.type,
                    system = excluded.system, parent = excluded.parent,
                    fields = excluded.fields, pass = excluded.pass
                RETURNING id
                """)
        let key = try Int64.fetchOne(
            statement,
            arguments: [
                zone.key, record.id.name, record.type, record.systemData,
                record.parentRecordName, record.fieldsData, zone.pass,
            ])
        guard let key else {
            throw CacheError(
                .damaged, "A record cannot be stored in the cache file. Delete the file.")
        }
        if var type = try file.types(database)[record.type],
            try type.index(record, key: key, zoneKey: zone.key, database)
        {
            try file.update(type, database)
        }
        try maintain(.put(record), key, record.id, database)
    }

    /// Inserts a new record as it was received.
    ///
    /// - Parameter types: the declared types in the transaction.
    /// - Returns: whether it was inserted; false, without a write, if there is a record of its
    ///   name.
    func insert(
        _ row: FetchedRow, _ zone: ZoneRow, _ types: inout [String: IndexedType],
        _ database: Database
    ) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: """
                INSERT INTO record (zone, name, type, system, parent, fields, pass)
                VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (zone, name) DO NOTHING
                """)
        try statement.execute(arguments: [
            zone.key, row.name, row.type, StoredSystem.encode(row.system), row.parentRecordName,
            Data(row.fields), zone.pass,
        ])
        guard database.changesCount == 1 else { return false }
        let key = database.lastInsertedRowID
        if var type = types[row.type],
            try type.index(
                row.snapshot(in: zone.id), key: key, zoneKey: zone.key, isNew: true, database)
        {
            try file.update(type, database)
            types[row.type] = type
        }
        try maintain(.fetched(row), key, RecordID(name: row.name, zoneID: zone.id), database)
        return true
    }

    /// Writes the system fields of a record whose fields stay unchanged.
    func putSystem(
        _ system: RecordSnapshot.SystemFields?, of name: String, _ zone: ZoneRow,
        _ database: Database
    ) throws {
        let statement = try database.cachedStatement(
            sql: """
                UPDATE record SET system = ?, pass = ? WHERE zone = ? AND name = ? RETURNING id, type
                """)
        let row = try Row.fetchOne(
            statement,
            arguments: [system.map { StoredSystem.encode($0) }, zone.pass, zone.key, name])
        guard let row else { return }
        try indexSystem(system, row[0], ofType: row[1], database)
        try maintain(.system, row[0], RecordID(name: name, zoneID: zone.id), database)
    }

    /// Notes that a full fetch contained a record that is unchanged; derived rows stay the same.
    func putPass(of name: String, _ zone: ZoneRow, _ database: Database) throws {
        try database.cachedStatement(sql: "UPDATE record SET pass = ? WHERE zone = ? AND name = ?")
            .execute(arguments: [zone.pass, zone.key, name])
    }

    /// Removes the system fields of a zone's records.
    func removeSystem(ofRecordsIn zone: ZoneRow, _ database: Database) throws {
        let statement = try database.cachedStatement(
            sql: "UPDATE record SET system = NULL WHERE zone = ? RETURNING id, name, type")
        for row in try Row.fetchAll(statement, arguments: [zone.key]) {
            try indexSystem(nil, row[0], ofType: row[2], database)
            try maintain(.system, row[0], RecordID(name: row[1], zoneID: zone.id), database)
        }
    }

    /// Removes a record, and adds its tombstone.
    ///
    /// - Parameter milliseconds: when it was deleted here; nil if it was deleted elsewhere.
    /// - Returns: whether the record was here.
    @discardableResult
    func removeRecord(
        _ name: String, _ zone: ZoneRow, deleted milliseconds: Int64? = nil, _ database: Database
    ) throws -> Bool {
        let statement = try database.cachedStatement(
            sql: """
                DELETE FROM record WHERE zone = ? AND name = ?
                RETURNING id, \(RecordSnapshot.columns)
                """)
        let id = RecordID(name: name, zoneID: zone.id)
        guard let row = try Row.fetchOne(statement, arguments: [zone.key, name]) else {
            return false
        }
        let removed = try RecordSnapshot(row, id: id, type: row[1], at: 2)
        try maintain(.removed, row[0], id, database)
        try addTombstone(
            zone.id, name, deleted: milliseconds, madeAnew: madeAnewMilliseconds(removed), database)
        return true
    }

    /// Removes all records of a zone; the zone gets a tombstone if it should have one.
    ///
    /// - Returns: the removed records.
    @discardableResult
    func removeRecords(of zone: ZoneRow, _ database: Database) throws -> [RecordID] {
        let statement = try database.cachedStatement(
            sql: "DELETE FROM record WHERE zone = ? RETURNING id, name")
        return try Row.fetchAll(statement, arguments: [zone.key]).map { row in
            let id = RecordID(name: row[1], zoneID: zone.id)
            try maintain(.removed, row[0], id, database)
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
