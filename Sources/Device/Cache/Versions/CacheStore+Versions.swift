import Foundation
import GRDB
import Logging
import StratusClient
import StratusRecords
import StratusSQLite
import StratusSync

/// The versions of records, and the migrations of older ones.
extension CacheStore {
    /// The version of a record; nil if its type has none.
    func version(of record: RecordSnapshot) -> (found: Int64, current: Int64)? {
        guard let declared = versions.declarations[record.type] else { return nil }
        guard case .int64(let found) = record[declared.key] else { return (0, declared.current) }
        return (found, declared.current)
    }

    /// Whether a newer app wrote a record.
    func isNewer(_ record: RecordSnapshot) -> Bool {
        version(of: record).map { $0.found > $0.current } ?? false
    }

    /// Whether an older app wrote a record.
    func isOlder(_ record: RecordSnapshot) -> Bool {
        version(of: record).map { $0.found < $0.current } ?? false
    }

    /// Whether the app does not see a record.
    func isHidden(_ record: RecordSnapshot) -> Bool {
        versions.sight == .hidden && isNewer(record)
    }

    /// - Throws: ``CacheError`` `newerRecord`.
    func refuseIfNewer(_ record: RecordSnapshot?) throws {
        guard let record, isNewer(record) else { return }
        throw CacheError(
            .newerRecord,
            "A newer version of the app wrote the record \(record.id.name). Update the app.")
    }

    /// Sets this app's version in an edited record, unless it must be migrated first.
    func stampVersion(_ record: inout RecordSnapshot, over old: RecordSnapshot?) {
        guard let declared = versions.declarations[record.type] else { return }
        // A record without a version is the app's own.
        let former = old ?? (record[declared.key] == nil ? nil : record)
        let found = former.flatMap { version(of: $0)?.found } ?? declared.current
        guard !declared.steps.contains(where: { $0.version > found }) else { return }
        record[declared.key] = .int64(max(found, declared.current))
    }

    // MARK: Older records

    /// A migration of one record.
    struct Migration {
        var edit: LocalEdit
        /// When the newest of the values that it read was edited, in milliseconds since 1970; nil if it read none, or
        /// one whose time is not known. The migrated values get the same time, however late a device migrates, because
        /// a migration is not a person's edit.
        var milliseconds: Int64?
    }

    /// The record as this device reads it: with the migrations that are not sent.
    func migratedLocally(_ record: RecordSnapshot) -> RecordSnapshot {
        migration(of: record, isLocal: true).map { migrated(record, by: $0) } ?? record
    }

    /// A record in the form that this app writes; unchanged if there is nothing to migrate, or a migration failed.
    func migrated(_ record: RecordSnapshot) -> RecordSnapshot {
        let found = migration(of: record, isLocal: true) ?? migration(of: record, isLocal: false)
        return found.map { migrated(record, by: $0) } ?? record
    }

    /// A record migrated to the version of another one; unchanged if that one is no newer.
    func migrated(_ record: RecordSnapshot, like other: RecordSnapshot) -> RecordSnapshot {
        let (found, wanted) = (version(of: record)?.found, version(of: other)?.found)
        return found ?? 0 < wanted ?? 0 ? migrated(record) : record
    }

    private func migrated(_ record: RecordSnapshot, by migration: Migration) -> RecordSnapshot {
        var migrated = record
        migration.edit.apply(to: &migrated)
        if let key = fieldTimesKey(ofType: record.type) {
            migrated.stampMigration(
                in: key, over: record, at: migration.milliseconds, rules: resolver.fieldRules)
        }
        return migrated
    }

    /// The result of migrating an older record; nil if there is nothing to migrate, or a migration
    /// failed.
    ///
    /// After a local migration no other is sent, because the service has the older record.
    func migration(of record: RecordSnapshot, isLocal: Bool) -> Migration? {
        guard let declared = versions.declarations[record.type], let version = version(of: record),
            version.found < declared.current, record.system?.sharing == nil
        else { return nil }
        let steps = declared.steps.filter { $0.version > version.found }
        guard let last = steps.last else { return nil }
        let isEdit = createsZones && steps.allSatisfy { $0.reach == .edit }
        guard isEdit != isLocal else { return nil }
        do {
            let older = file.withFiles(try record.record())
            let unreadable = older.unreadableKeys
            older.noteReads()
            var migrated = older
            for step in steps { migrated = try step.body(migrated) }
            guard RecordID(migrated.recordID) == record.id, migrated.recordType == record.type
            else {
                throw CacheError(
                    .unsupportedValue,
                    "The migration of \(record.type) returned another record. Return the one that it"
                        + " was given.")
            }
            let read = older.readKeys.union(migrated.readKeys)
            guard unreadable.isDisjoint(with: read) else {
                note(
                    "migrationWaits", record,
                    "The migration reads encrypted values, and this device has no key for them yet."
                )
                return nil
            }
            var edit = try migrated.edit()
            edit.changes.removeAll { $0.name == declared.key }
            edit.changes.append(
                Field(name: declared.key, value: .int64(min(last.version, declared.current))))
            return Migration(edit: edit, milliseconds: editedMilliseconds(of: read, in: record))
        } catch {
            note("migrationFailed", record, "\(error)")
            return nil
        }
    }

    private func note(_ name: String, _ record: RecordSnapshot, _ error: String) {
        CacheLog(file: file, scope: scope, world: world).note(
            .warning, name,
            ["type": record.type, "version": "\(version(of: record)?.found ?? 0)", "error": error],
            isInTransaction: true)
    }

    /// When the newest of some fields' values was edited, in milliseconds since 1970; nil if one has no time.
    private func editedMilliseconds(of names: Set<String>, in record: RecordSnapshot) -> Int64? {
        let times = FieldTimes(fieldTimesKey(ofType: record.type).flatMap { record[$0] })
        var newest: Int64?
        for name in names {
            let field = record.field(name)
            let isTimed = resolver.fieldRules[name] != .editCount
            let time = isTimed ? times.milliseconds(of: field, name) : nil
            guard time != nil || field == nil else { return nil }
            newest = [newest, time].compactMap(\.self).max()
        }
        return newest
    }

    // MARK: Migrated on this device alone

    private static let localPrefix = "local/"

    /// Whether a record may be here in a form to which this release or an earlier one migrated it, while the service
    /// has an older one.
    func isMigratedLocally(_ record: RecordSnapshot) -> Bool {
        guard let found = version(of: record)?.found else { return false }
        let versions = [
            localVersion(of: record.type), locallyMigrated.withLock { $0[record.type] },
        ]
        return versions.compactMap(\.self).contains { found >= $0 }
    }

    /// The version that records of a type have after this release's local migrations; nil if it has none.
    private func localVersion(of type: String) -> Int64? {
        guard let declared = versions.declarations[type], let last = declared.steps.last,
            !createsZones || declared.steps.contains(where: { $0.reach == .locally })
        else { return nil }
        return min(last.version, declared.current)
    }

    /// Reads which types were ever migrated on this device alone, with the first version that they got.
    func readLocalMigrations() throws {
        guard !versions.declarations.isEmpty else { return }
        let known = try read { database in
            try versions.declarations.keys.compactMap { type in
                try text(named: Self.localPrefix + type, database).flatMap { Int64($0) }
                    .map { (type, $0) }
            }
        }
        locallyMigrated.withLock { $0 = Dictionary(uniqueKeysWithValues: known) }
    }

    /// Notes for later releases, which may not have the migration, that records of a type may be older at the service.
    private func noteLocalMigration(of type: String) throws {
        guard let version = localVersion(of: type),
            version < locallyMigrated.withLock({ $0[type] }) ?? .max
        else { return }
        try file.write { try setText("\(version)", named: Self.localPrefix + type, $0) }
        locallyMigrated.withLock { $0[type] = version }
    }

    // MARK: Migrating

    /// Migrates a fetched older record as an edit, which is sent.
    func migrateAsEdit(
        _ server: RecordSnapshot, _ zone: CachedZoneRow, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        guard let migration = migration(of: server, isLocal: false) else { return }
        let time = migration.milliseconds ?? server.system?.modifiedMilliseconds ?? 0
        if try apply(migration.edit, zone, time, database) {
            outcome.changedIDs.insert(server.id)
        }
    }

    /// Migrates a record on this device, according to a migration.
    func migrateAsEdit(
        _ name: String, _ zone: CachedZoneRow, _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        guard let here = try record(name, zone, database) else { return }
        try migrateAsEdit(here, zone, &outcome, database)
    }

    /// The number of records in one transaction.
    private static let migrationStep = 200

    /// Migrates some of the records on this device.
    ///
    /// - Returns: the outcome; nil when all are migrated.
    func migrateSome() throws -> CacheOutcome? {
        for (type, declared) in versions.declarations.sorted(by: { $0.key < $1.key })
        where !declared.steps.isEmpty {
            try noteLocalMigration(of: type)
            let name = "migrated/\(type)"
            let known = try read { try text(named: name, $0) }
            let parts = (known ?? "0/0").split(separator: "/").compactMap { Int64($0) }
            let isSame = parts.first == declared.current
            if isSame, parts.count == 1 { continue }
            let after = isSame && parts.count == 2 ? parts[1] : 0
            return try migrate(type, declared, after: after, flag: name)
        }
        return nil
    }

    private func migrate(
        _ type: String, _ declared: RecordVersions.Declaration, after: Int64, flag name: String
    ) throws -> CacheOutcome {
        try write { database, outcome in
            let rows = try Row.fetchAll(
                database,
                sql: """
                    SELECT record.id, record.name, zone.name FROM record
                    JOIN zone ON zone.id = record.zone
                    WHERE zone.\(isHere) AND type = ? AND record.id > ?
                    ORDER BY record.id LIMIT \(Self.migrationStep)
                    """, arguments: [type, after])
            for row in rows {
                guard let zone = try zoneOfRecord(row.decode(atIndex: 0), database),
                    let record = try record(row.decode(String.self, atIndex: 1), zone, database)
                else { continue }
                if migration(of: record, isLocal: false) != nil {
                    try migrateAsEdit(record, zone, &outcome, database)
                    continue
                }
                let migrated = migratedLocally(record)
                guard migrated != record else { continue }
                try put(migrated, isEdit: true, zone, database)
                outcome.changedIDs.insert(record.id)
                // The base is migrated too, so that the pending change has no difference that only the migration made.
                if var pending = try pending(record.id.name, zone, database) {
                    pending.base = pending.base.map { migratedLocally($0) }
                    try update(pending, database)
                }
            }
            let isDone = rows.count < Self.migrationStep
            let last = try rows.last?.decode(Int64.self, atIndex: 0) ?? after
            let value = isDone ? "\(declared.current)" : "\(declared.current)/\(last)"
            try setText(value, named: name, database)
        }
    }

    private func zoneOfRecord(_ key: Int64, _ database: Database) throws -> CachedZoneRow? {
        try SQLStatement(
            database,
            """
            SELECT \(CachedZoneRow.columns) FROM zone WHERE id = (SELECT zone FROM record WHERE id = ?)
            """
        ).bind(1, key).first { try CachedZoneRow($0) }
    }
}

extension CloudCache {
    /// Migrates all records on this device; see ``RecordVersions/migrate(_:to:as:_:)``.
    ///
    /// Syncing calls it when it begins. An app that shows records earlier may call it first. It
    /// migrates in steps, between which other writers run, and continues after a restart. When all
    /// records are migrated it returns at once.
    ///
    /// - Throws: SQLite's error, or ``CacheError`` `storageFull`.
    public func migrateRecords() throws {
        for database in databases {
            while let outcome = try database.store.migrateSome() { observers.notify(outcome) }
        }
    }
}
