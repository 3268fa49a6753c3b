import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// What a transaction did to a record's row.
enum WrittenRow: Sendable {
    /// The record as it is here now.
    indirect case put(RecordSnapshot)
    /// Only what the service says of it is new; the fields are those of the row.
    case system
    case removed

    var hasFields: Bool {
        switch self {
        case .put: true
        case .system, .removed: false
        }
    }
}

/// The gate to the table `record`: every row of it is written here and nowhere else, inside a transaction
/// of `CacheStore.write`. What hangs on a row is brought up to date in the same step.
extension CacheStore {
    static let insertSQL = """
        INSERT INTO record (zone, nameHash, name, type, system, parent, fields, pass)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
        """

    func put(_ record: RecordSnapshot, _ zone: ZoneRow, _ database: Database) throws {
        let key = try update(record, zone, database) ?? insert(record, zone, database)
        if var type = try file.types(database)[record.type],
            try type.index(record, key: key, zoneKey: zone.key, database)
        {
            try file.update(type, database)
        }
        try maintain(.put(record), key, record.id, database)
    }

    /// - Returns: the key of the row; nil where there is none of the name.
    private func update(
        _ record: RecordSnapshot, _ zone: ZoneRow, _ database: Database
    ) throws -> Int64? {
        let statement = try database.cachedStatement(
            sql: """
                UPDATE record SET type = ?, system = ?, parent = ?, fields = ?, pass = ?
                WHERE \(CacheFormat.isNamed) RETURNING id
                """)
        let name = record.id.name
        return try Int64.fetchOne(
            statement,
            arguments: [
                record.type, record.systemData, record.parentRecordName, record.fieldsData,
                zone.pass, zone.key, NameHash.of(name), name,
            ])
    }

    private func insert(
        _ record: RecordSnapshot, _ zone: ZoneRow, _ database: Database
    ) throws -> Int64 {
        try database.cachedStatement(sql: Self.insertSQL).execute(arguments: [
            zone.key, NameHash.of(record.id.name), record.id.name, record.type, record.systemData,
            record.parentRecordName, record.fieldsData, zone.pass,
        ])
        return database.lastInsertedRowID
    }

    /// Puts a record that is new here as it came; whoever keeps what is derived of such a row has it from
    /// `CacheOutcome.fetched`.
    ///
    /// - Parameter types: the declared types as the transaction has them.
    /// - Returns: whether there was none of its name; else nothing is written.
    func insert(
        _ row: FetchedRow, _ zone: ZoneRow, by writer: borrowing FetchedRowWriter,
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

    /// Notes what the service says of a record whose fields stay as they are here.
    func putSystem(
        _ system: RecordSnapshot.SystemFields?, of name: String, _ zone: ZoneRow,
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
        try indexSystem(system, row[0], ofType: row[1], database)
        try maintain(.system, row[0], RecordID(name: name, zoneID: zone.id), database)
    }

    /// Notes that a full fetch brought a record as it is here; nothing hangs on that.
    func putPass(of name: String, _ zone: ZoneRow, _ database: Database) throws {
        try database.cachedStatement(
            sql: "UPDATE record SET pass = ? WHERE \(CacheFormat.isNamed)"
        ).execute(arguments: [zone.pass, zone.key, NameHash.of(name), name])
    }

    /// Forgets what the service says of a zone's records.
    func removeSystem(ofRecordsIn zone: ZoneRow, _ database: Database) throws {
        let statement = try database.cachedStatement(
            sql: "UPDATE record SET system = NULL WHERE zone = ? RETURNING id, name, type")
        for row in try Row.fetchAll(statement, arguments: [zone.key]) {
            try indexSystem(nil, row[0], ofType: row[2], database)
            try maintain(.system, row[0], RecordID(name: row[1], zoneID: zone.id), database)
        }
    }

    /// Removes a record, and remembers that it was here.
    ///
    /// - Parameter milliseconds: when it was deleted here; nil for what others deleted.
    /// - Returns: whether it was.
    @discardableResult
    func removeRecord(
        _ name: String, _ zone: ZoneRow, deleted milliseconds: Int64? = nil, _ database: Database
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
        let removed = try RecordSnapshot(row, id: id, type: row[1], at: 2)
        try maintain(.removed, row[0], id, database)
        try addTombstone(
            zone.id, name, deleted: milliseconds, madeAnew: madeAnewMilliseconds(removed), database)
        return true
    }

    /// Removes all records of a zone, which gets a tombstone as a whole where it should have one.
    ///
    /// - Returns: which they were.
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

    /// Brings up to date what is derived from a record's row: whoever keeps such rows adds a call here.
    ///
    /// - Parameter key: `record.id`. Rows that refer to it with `ON DELETE CASCADE` are gone already where
    ///   the record is.
    private func maintain(
        _ written: WrittenRow, _ key: Int64, _ id: RecordID, _ database: Database
    ) throws {
        writtenRows.withLock { rows in
            // A record that was put and then confirmed has new fields all the same.
            if case .system = written, rows[id]?.hasFields == true { return }
            rows[id] = written
        }
    }
}
