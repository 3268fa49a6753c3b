import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// Handles records that a newer app wrote, and the zones that have them.
extension CacheStore {
    /// Reads which zones wait for an update of the app, at opening and after a write of another process.
    func readHeldZones() throws {
        let held = try read { try heldZones($0) }
        self.held.withLock { $0 = held }
    }

    /// Whether a zone waits for an update of the app.
    func isHeld(_ zone: CachedZoneRow) -> Bool { held.withLock { $0[zone.key] != nil } }

    /// The zones that wait for an update of the app, by the key of their row.
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
        _ record: RecordSnapshot, _ zone: CachedZoneRow, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        guard let version = version(of: record), version.found > version.current else { return }
        // Set even if the file already has it, because another process may have found it.
        if versions.newerRecords == .haltZone { held.withLock { $0[zone.key] = zone.id } }
        let name = "newer/\(zone.key)/\(record.type)"
        let known = try text(named: name, database).flatMap { Int64($0) }
        if let known, known >= version.found { return }
        try setText("\(version.found)", named: name, database)
        outcome.events.append(
            .newerRecords(
                CKRecordZone.ID(zone.id), recordType: record.type,
                isHalted: versions.newerRecords == .haltZone))
    }

    // MARK: Conflicts before an update

    private func notedConflictPrefix(_ zone: CachedZoneRow) -> String { "met/\(zone.key)/" }

    /// Notes the record with which an unanswered save of a new record conflicted: the save had arrived, and no later
    /// fetch returns the record again.
    private func noteConflict(
        _ server: RecordSnapshot, _ zone: CachedZoneRow, _ database: Database
    ) throws {
        let data = [server.systemData ?? Data(), server.fieldsData].map { Base64.text([UInt8]($0)) }
        let text = [server.type, server.parentRecordName ?? ""] + data
        try setText(
            text.joined(separator: "\n"), named: notedConflictPrefix(zone) + server.id.name,
            database)
    }

    /// The record of the service with which an unanswered save conflicted; nil if none is known.
    func notedConflict(_ name: String, _ zone: CachedZoneRow, _ database: Database) throws
        -> RecordSnapshot?
    {
        guard let text = try text(named: notedConflictPrefix(zone) + name, database) else {
            return nil
        }
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let data = parts.suffix(2).map { Base64.bytes($0) ?? [] }
        guard parts.count == 4 else { return nil }
        return try data[0].withUnsafeBytes { system in
            try data[1].withUnsafeBytes { fields in
                RecordSnapshot(
                    id: RecordID(name: name, zoneID: zone.id), type: parts[0],
                    system: try StoredSystem.decode(system),
                    parentRecordName: parts[1].isEmpty ? nil : parts[1],
                    fields: try StoredFields.decode(fields))
            }
        }
    }

    /// Notes that a newer app was the first to send a record again whose state here a restore had lost: if the record
    /// is missing after the update, it was deleted meanwhile.
    private func noteSentAgainElsewhere(
        _ pending: PendingRow, _ server: RecordSnapshot, _ zone: CachedZoneRow, _ database: Database
    ) throws {
        let name = server.id.name
        guard pending.change.kind == .save, try record(name, zone, database)?.system != nil
        else { return }
        var row = pending
        row.isSentAgain = true
        // A change queued only because of the loss is excluded: the app is notified if its record was deleted.
        row.change.generation += 1
        try update(row, database)
        try putSystem(server.system, of: name, zone, database)
    }

    /// Resolves the noted conflicts once the zone is fetched again; a process of an older app may have noted them at
    /// the same time.
    func resolveNotedConflicts(
        in zone: CachedZoneRow, _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        let prefix = notedConflictPrefix(zone)
        let names = try String.fetchAll(
            database.cachedStatement(
                sql: "SELECT name FROM flag WHERE \(isHere) AND name > ? AND name < ?"),
            arguments: [prefix, "met/\(zone.key)0"])
        for name in names.map({ String($0.dropFirst(prefix.count)) }) {
            if let row = try pending(name, zone, database), row.base == nil,
                row.isUnanswered, let server = try notedConflict(name, zone, database)
            {
                try resolveConflict(server, row, zone, countsRound: false, &outcome, database)
            }
            try forgetNotedConflict(name, zone, database)
        }
    }

    /// Removes the notes of conflicts in a zone before a full fetch, which returns the records that still exist.
    func forgetNotedConflicts(in zone: CachedZoneRow, _ database: Database) throws {
        try database.execute(
            sql: "DELETE FROM flag WHERE \(isHere) AND name LIKE 'met/\(zone.key)/%'")
    }

    func forgetNotedConflict(_ name: String, _ zone: CachedZoneRow, _ database: Database) throws {
        try setText(nil, named: notedConflictPrefix(zone) + name, database)
    }

    /// Removes the notes of newer records in a zone that is deleted.
    func forgetNewer(in zone: CachedZoneRow, _ database: Database) throws {
        try database.execute(
            sql: "DELETE FROM flag WHERE \(isHere) AND name LIKE 'newer/\(zone.key)/%'")
        try forgetNotedConflicts(in: zone, database)
        held.withLock { _ = $0.removeValue(forKey: zone.key) }
    }

    /// Handles a newer app's record with a pending local change.
    ///
    /// - Returns: whether the record is handled.
    func resolveNewerRecord(
        _ server: RecordSnapshot, _ row: PendingRow, _ zone: CachedZoneRow,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws -> Bool {
        guard isNewer(server) else { return false }
        try noteNewer(server, zone, &outcome, database)
        // The change is kept for the newer app, which resolves the conflict when it sends the
        // change.
        guard versions.newerRecords == .goOn else {
            // The running full fetch has received the record nevertheless.
            try putPass(of: server.id.name, zone, database)
            guard row.base == nil else { return true }
            if row.isUnanswered, row.change.kind == .save {
                try noteConflict(server, zone, database)
            } else if row.change.kind == .delete,
                try !isOfAnotherRecord(server, than: row, zone, database)
            {
                // The record had arrived without an answer, so it must be deleted after the update.
                var row = row
                row.base = server
                try update(row, database)
            } else {
                try noteSentAgainElsewhere(row, server, zone, database)
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
        try reportResolution(of: conflict, against: server, &outcome)
        return true
    }

    /// Sets aside a deletion of a record that a newer app has written since, so that the user decides again.
    private func setAside(
        deletion: PendingRow, of server: RecordSnapshot, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        var row = deletion
        row.base = server
        guard row.failure == nil else { return try update(row, database) }
        let failure = SyncFailure(
            .incompatibleVersion,
            message:
                "A newer version of the app has written this record since, so it was not deleted. Update"
                + " the app.")
        row.failure = failure
        try update(row, database)
        outcome.events.append(.setAside(AttentionItem(row.change, failure, scope)))
    }
}
