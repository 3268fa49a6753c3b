import Foundation
import GRDB
import Logging
import StratusClient
import StratusRecords
import StratusSync

/// Records of newer and older apps.
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

    /// Whether the app does not see a record.
    func isHidden(_ record: RecordSnapshot) -> Bool {
        versions.sight == .hidden && isNewer(record)
    }

    /// - Throws: ``CacheError`` `newerRecord`.
    func refuseIfNewer(_ record: RecordSnapshot?) throws {
        guard let record, isNewer(record) else { return }
        throw CacheError(
            .newerRecord, "A newer version of the app wrote this record. Update the app.")
    }

    // MARK: Newer records

    /// Reads which zones wait for an update of the app, at the opening and after a write of another process.
    func readHeldZones() throws {
        let held = try read { try heldZones($0) }
        self.held.withLock { $0 = held }
    }

    /// By the key of their row.
    private func heldZones(_ database: Database) throws -> [Int64: ZoneID] {
        guard versions.newerRecords == .haltZone else { return [:] }
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT zone.id, zone.name, zone.owner, flag.name, flag.value FROM flag
                    JOIN zone ON zone.\(isHere) AND flag.name LIKE 'newer/' || zone.id || '/%'
                    WHERE flag.\(isHere)
                    """))
        var held: [Int64: ZoneID] = [:]
        for row in rows {
            let name: String = try row.decode(atIndex: 3)
            let type = name.split(separator: "/", maxSplits: 2).last.map(String.init)
            guard let type, let declared = versions.declarations[type],
                let version = Int64(try row.decode(String.self, atIndex: 4)),
                version > declared.current
            else { continue }
            held[try row.decode(atIndex: 0)] = ZoneID(
                name: try row.decode(atIndex: 1), ownerName: try row.decode(atIndex: 2))
        }
        return held
    }

    /// Notes a record of a newer app: its zone may have to wait for an update.
    func noteNewer(
        _ record: RecordSnapshot, _ zone: ZoneRow, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        guard let version = version(of: record), version.found > version.current else { return }
        // Even if the file says so already: another process may have found it.
        if versions.newerRecords == .haltZone { held.withLock { $0[zone.key] = zone.id } }
        let name = "newer/\(zone.key)/\(record.type)"
        let known = try String.fetchOne(
            database.cachedStatement(sql: "SELECT value FROM flag WHERE \(isHere) AND name = ?"),
            arguments: [name])
        if let known = known.flatMap({ Int64($0) }), known >= version.found { return }
        try database.execute(
            sql: "INSERT OR REPLACE INTO flag (database, name, value) VALUES (?, ?, ?)",
            arguments: [scope.rawValue, name, "\(version.found)"])
        outcome.events.append(
            .newerRecords(
                CKRecordZone.ID(zone.id), recordType: record.type,
                isHalted: versions.newerRecords == .haltZone))
    }

    /// Removes the notes of newer records in a zone that is deleted.
    func forgetNewer(in zone: ZoneRow, _ database: Database) throws {
        try database.execute(
            sql: "DELETE FROM flag WHERE \(isHere) AND name LIKE 'newer/\(zone.key)/%'")
        held.withLock { _ = $0.removeValue(forKey: zone.key) }
    }

    /// Sets this app's version in an edited record, unless it must be migrated first.
    func stampVersion(_ record: inout RecordSnapshot, over old: RecordSnapshot?) {
        guard let declared = versions.declarations[record.type] else { return }
        let found = old.flatMap { version(of: $0)?.found } ?? declared.current
        guard !declared.steps.contains(where: { $0.version > found }) else { return }
        record[declared.key] = .int64(max(found, declared.current))
    }

    /// Handles a newer app's record with a pending local change.
    ///
    /// - Returns: whether the record is handled.
    func meetNewer(
        _ server: RecordSnapshot, _ row: PendingRow, _ zone: ZoneRow,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws -> Bool {
        guard isNewer(server) else { return false }
        try noteNewer(server, zone, &outcome, database)
        // The change is kept for the newer app, which resolves the conflict when it sends the
        // change.
        guard versions.newerRecords == .goOn else {
            // A full fetch has received it all the same.
            try putPass(of: server.id.name, zone, database)
            if row.change.kind == .delete, row.base == nil,
                try !isOfAnotherRecord(server, than: row, zone, database)
            {
                // The record had arrived without an answer: there is something to delete after the update.
                var row = row
                row.base = server
                try update(row, database)
            }
            return true
        }
        let client = try record(server.id.name, zone, database)
        if row.change.kind == .delete, try !isOfAnotherRecord(server, than: row, zone, database) {
            try setAside(deletion: row, of: server, &outcome, database)
            return true
        }
        try removePending(row, database)
        try put(server, zone, database)
        outcome.changedIDs.insert(server.id)
        guard row.change.kind == .save, let client else { return true }
        let conflict = SyncConflict(
            ancestor: row.base, client: client, server: server,
            clientEditedMilliseconds: row.editedMilliseconds)
        try tell(of: conflict, against: server, &outcome)
        return true
    }

    /// A person deleted what a newer app has written since, and decides about it once more.
    private func setAside(
        deletion: PendingRow, of server: RecordSnapshot, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        var row = deletion
        row.base = server
        guard row.failure == nil else { return try update(row, database) }
        let failure = SyncFailure(
            .incompatibleVersion,
            message: "A newer version of the app wrote this record since. Update the app.")
        row.failure = failure
        try update(row, database)
        outcome.events.append(.setAside(AttentionItem(row.change, failure, scope)))
    }

    // MARK: Older records

    /// The record as this device reads it: with the migrations that are not sent.
    func migratedLocally(_ record: RecordSnapshot) -> RecordSnapshot {
        guard let edit = migration(of: record, isLocal: true) else { return record }
        var migrated = record
        edit.apply(to: &migrated)
        return migrated
    }

    /// Whether a record may be here as it was migrated, and older at the service.
    func isMigratedLocally(_ record: RecordSnapshot) -> Bool {
        guard let steps = versions.declarations[record.type]?.steps, let last = steps.last,
            !createsZones || steps.contains(where: { $0.reach == .locally })
        else { return false }
        return version(of: record).map { $0.found >= min(last.version, $0.current) } ?? false
    }

    /// The result of migrating an older record; nil if there is nothing to migrate, or a migration
    /// failed.
    ///
    /// After a local migration no other is sent, because the service has the older record.
    func migration(of record: RecordSnapshot, isLocal: Bool) -> LocalEdit? {
        guard let declared = versions.declarations[record.type], let version = version(of: record),
            version.found < declared.current, record.system?.sharing == nil
        else { return nil }
        let steps = declared.steps.filter { $0.version > version.found }
        guard let last = steps.last else { return nil }
        let isEdit = createsZones && steps.allSatisfy { $0.reach == .edit }
        guard isEdit != isLocal else { return nil }
        do {
            var migrated = file.withFiles(try record.record())
            for step in steps { migrated = try step.body(migrated) }
            guard RecordID(migrated.recordID) == record.id, migrated.recordType == record.type
            else {
                throw CacheError(
                    .unsupportedValue,
                    "A migration returned another record. Return the one that it was given.")
            }
            var edit = try migrated.edit()
            edit.changes.removeAll { $0.name == declared.key }
            edit.changes.append(
                Field(name: declared.key, value: .int64(min(last.version, declared.current))))
            return edit
        } catch {
            CacheLog(file: file, scope: scope, world: world).note(
                .warning, "migrationFailed",
                ["type": record.type, "version": "\(version.found)", "error": "\(error)"],
                isInTransaction: true)
            return nil
        }
    }

    /// Migrates a fetched older record as an edit, which is sent.
    func migrateAsEdit(
        _ server: RecordSnapshot, _ zone: ZoneRow, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        guard let edit = migration(of: server, isLocal: false) else { return }
        if try apply(edit, zone, nowMilliseconds, database) { outcome.changedIDs.insert(edit.id) }
    }

    /// Migrates a record that is here, as it was decided.
    func migrateAsEdit(
        _ name: String, _ zone: ZoneRow, _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        guard !versions.declarations.isEmpty, let here = try record(name, zone, database)
        else { return }
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
            let name = "migrated/\(type)"
            let known = try read { database in
                try String.fetchOne(
                    database, sql: "SELECT value FROM flag WHERE \(isHere) AND name = ?",
                    arguments: [name])
            }
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
                if let edit = migration(of: record, isLocal: false) {
                    if try apply(edit, zone, nowMilliseconds, database) {
                        outcome.changedIDs.insert(edit.id)
                    }
                    continue
                }
                let migrated = migratedLocally(record)
                guard migrated != record else { continue }
                try put(migrated, isEdit: true, zone, database)
                outcome.changedIDs.insert(record.id)
                // The migration is not sent with a change that the app did not make.
                if var pending = try pending(record.id.name, zone, database) {
                    pending.base = pending.base.map { migratedLocally($0) }
                    try update(pending, database)
                }
            }
            let isDone = rows.count < Self.migrationStep
            let last = try rows.last?.decode(Int64.self, atIndex: 0) ?? after
            let value = isDone ? "\(declared.current)" : "\(declared.current)/\(last)"
            try database.execute(
                sql: "INSERT OR REPLACE INTO flag (database, name, value) VALUES (?, ?, ?)",
                arguments: [scope.rawValue, name, value])
        }
    }

    private func zoneOfRecord(_ key: Int64, _ database: Database) throws -> ZoneRow? {
        try Row.fetchOne(
            database,
            sql: """
                SELECT \(ZoneRow.columns) FROM zone
                WHERE id = (SELECT zone FROM record WHERE id = ?)
                """, arguments: [key]
        ).map { try ZoneRow($0) }
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
            while let outcome = try database.store.migrateSome() { observers.tell(outcome) }
        }
    }
}
