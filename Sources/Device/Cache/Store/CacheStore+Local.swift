import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync

/// Edits and deletions by the app, online or offline.
extension CacheStore {
    /// Writes edits and deletions with their pending changes, in one transaction.
    ///
    /// - Parameter assets: files that were created for the edits.
    /// - Returns: the outcome, and zones that must be created.
    func commit(
        edits: [LocalEdit], deletions: [RecordID], assets: [CacheFile.KeptFile] = []
    ) throws -> (outcome: CacheOutcome, wantedZones: [ZoneID]) {
        var wanted: [ZoneID] = []
        var encrypted: Set<EncryptedField> = []
        let outcome = try write { database, outcome in
            for asset in assets { try file.add(asset, database) }
            (wanted, encrypted) = try commit(
                edits: edits, deletions: deletions, &outcome, database)
        }
        remember(encrypted)
        return (outcome, wanted)
    }

    /// Writes edits and deletions within an open transaction.
    ///
    /// - Returns: zones that must be created, and fields to ``remember(_:)`` after the transaction.
    func commit(
        edits: [LocalEdit], deletions: [RecordID], _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws -> (wantedZones: [ZoneID], encrypted: Set<EncryptedField>) {
        try readClock(database)
        let now = nowMilliseconds
        outcome.isLocal = true
        try noteWhoEdits(database)
        var wanted: [ZoneID] = []
        let encrypted = try noteEncryptedFields(of: edits, database)
        var zones: [ZoneID: CachedZoneRow] = [:]
        func zoneRow(_ id: ZoneID) throws -> CachedZoneRow {
            if let known = zones[id] { return known }
            let row = try wantedZone(id, &wanted, database)
            zones[id] = row
            return row
        }
        for var edit in edits {
            if try isStale(edit, database) {
                guard try isBroughtBack(edit, now, &outcome) else { continue }
                edit.original = nil
            }
            let zone = try zoneRow(edit.id.zoneID)
            if try apply(edit, zone, now, database) { outcome.changedIDs.insert(edit.id) }
        }
        for id in deletions {
            // A record whose zone is unknown is not here.
            guard let zone = try zone(id.zoneID, database) else { continue }
            if try delete(id.name, zone, now, database) { outcome.changedIDs.insert(id) }
        }
        return (wanted, encrypted)
    }

    // MARK: Before the edits

    /// Notes that an edit was made while no user was signed in: the records have no user until the app adopts them.
    private func noteWhoEdits(_ database: Database) throws {
        guard !hasAccount(), try flag(CacheFlag.userRecordName, database) == nil else { return }
        try setFlag(CacheFlag.isMadeByNobody, "1", database)
    }

    /// Stores the fields that edits encrypt for the first time.
    ///
    /// - Returns: the new fields; pass them to ``remember(_:)`` after the transaction.
    private func noteEncryptedFields(
        of edits: [LocalEdit], _ database: Database
    ) throws -> Set<EncryptedField> {
        var new: Set<EncryptedField> = []
        for edit in edits {
            for field in edit.changes where field.isEncrypted && field.value != nil {
                let isKnown = file.encryptedKeys.withLock {
                    $0[edit.type]?.contains(field.name) ?? false
                }
                guard !isKnown else { continue }
                new.insert(EncryptedField(recordType: edit.type, key: field.name))
            }
        }
        for field in new {
            try database.execute(
                sql: "INSERT OR IGNORE INTO encryptedField (type, key) VALUES (?, ?)",
                arguments: [field.recordType, field.key])
        }
        return new
    }

    /// Caches fields that are stored now, so that the next edit does not store them again.
    func remember(_ fields: Set<EncryptedField>) {
        guard !fields.isEmpty else { return }
        file.encryptedKeys.withLock { $0.merge(EncryptedKeys(fields)) { $0.union($1) } }
    }

    // MARK: Whether an edit applies, and its zone

    /// Whether the edited record was deleted meanwhile, here or elsewhere.
    private func isStale(_ edit: LocalEdit, _ database: Database) throws -> Bool {
        guard edit.isKnown else { return false }
        guard let zone = try zone(edit.id.zoneID, database) else {
            return try hasTombstone(of: edit.id.zoneID, database)
        }
        guard try record(edit.id.name, zone, database) == nil else { return false }
        if zone.state == .unwanted || zone.state == .replaced { return true }
        if try pending(edit.id.name, zone, database)?.change.kind == .delete { return true }
        return try hasTombstone(of: edit.id, database)
    }

    /// Asks the resolver whether an edit restores a deleted record; if not, it is reported to the
    /// app.
    private func isBroughtBack(
        _ edit: LocalEdit, _ now: Int64, _ outcome: inout CacheOutcome
    ) throws -> Bool {
        let client = edit.record(system: nil)
        switch resolver.resolveDeletion(of: client, clientEditedMilliseconds: now) {
        case .resurrect: return true
        case .acceptDeletion:
            outcome.events.append(.editOfDeletedRecord(client: try client.record()))
            return false
        }
    }

    /// Makes sure that a zone exists here; one that was to be deleted, or was refused, is wanted
    /// again.
    ///
    /// - Parameter wanted: receives the zone if syncing must be notified of it.
    func wantedZone(
        _ id: ZoneID, _ wanted: inout [ZoneID], _ database: Database
    ) throws -> CachedZoneRow {
        let known = try zone(id, database)
        if id.isDefault {
            // The default zone has no change feed, as in CloudKit, so no device would fetch the
            // record.
            throw CacheError(
                .invalidZone,
                "Records in the default zone are not synced to other devices. Save into a custom"
                    + " zone.")
        }
        if !createsZones, known?.state != .existing, known?.state != .detached {
            throw CacheError(
                .invalidZone,
                "The zone \(id.name) of \(id.ownerName) is not shared with the user. Save into a zone"
                    + " that is.")
        }
        var row = try known ?? zone(id, orMake: .wanted, database)
        switch row.state {
        // A zone that was only emptied still exists, as far as this device knows. Its records, which would have been
        // deleted with it, must now be deleted one by one.
        case .unwanted where row.token != nil:
            row.state = .existing
            row.token = nil
            try database.execute(
                sql: "UPDATE zone SET token = NULL, needsFetch = 1 WHERE id = ?",
                arguments: [row.key])
        case .unwanted: row.state = .replaced
        case .refused: row.state = .wanted
        case .wanted, .existing, .replaced, .detached: break
        }
        if let known, known.state != row.state {
            try setState(row.state, of: row, database)
        }
        if row.state == .wanted || row.state == .replaced || known?.state == .unwanted {
            wanted.append(id)
        }
        return row
    }

    // MARK: Saving

    /// - Returns: whether anything changed.
    func apply(
        _ edit: LocalEdit, _ zone: CachedZoneRow, _ now: Int64, _ database: Database
    ) throws -> Bool {
        let old = try record(edit.id.name, zone, database)
        try refuseIfNewer(old ?? edit.original)
        var pending = try pending(edit.id.name, zone, database)
        var new: RecordSnapshot
        var before: RecordSnapshot?
        if let old {
            // The service has the record unmigrated, so the migration is part of the edit.
            let migrated = migrated(old)
            (new, before) = (migrated, migrated)
            edit.apply(to: &new)
            try keepKnownAssets(of: &new, over: old, database)
            if old.hasSameContent(as: new) { return false }
        } else {
            // A record that was deleted here and is created again still has the service's system
            // fields, and one that was fetched by other means has a change tag too.
            new = edit.record(system: pending?.base?.system ?? edit.original?.system)
        }
        stampVersion(&new, over: old.map { _ in new } ?? edit.original)
        let edited = stamp(&new, over: before, now, after: pending?.editedMilliseconds)
        let base = old.map { $0.system == nil ? nil : $0 } ?? edit.original
        let isRecreated = try isRecreated(edit, over: old, pending, base, database)
        if isRecreated, let key = fieldTimesKey(ofType: new.type) {
            new.stampRecreation(
                in: key, after: pending?.base,
                former: try recreatedMilliseconds(ofDeleted: new.id, database), at: now)
        }
        try put(new, isEdit: true, zone, database)
        let isMoved = (pending?.base ?? base).map { !new.deleteSelfNames(leftSince: $0).isEmpty }
        if var row = pending {
            row.isMoved = row.isMoved || isMoved ?? false
            if row.change.kind == .save, let old, row.delivery != .notSent {
                // The service may have these values although no answer arrived.
                row.earlier.append(contentsOf: old.marks(ofFieldsThatDifferFrom: new))
                if row.isUnanswered {
                    row.earlier = marksOfTimes(old, replacedBy: new) + row.earlier
                }
            }
            if row.change.kind == .delete {
                row.isRecreated = isRecreated
                if row.isRecreated, row.base == nil { try needFetch(of: zone, database) }
                row.delivery = .notSent
            }
            row.change = row.change.followed(by: .save)
            row.editedMilliseconds = edited
            row.failure = nil
            try update(row, database)
            pending = row
        } else {
            try queue(
                .save, edit.id.name, zone, base: base, editedMilliseconds: edited,
                isRecreated: isRecreated, isMoved: isMoved ?? false, database)
        }
        return true
    }

    /// Keeps the value of a file that the record already has, so that it is not uploaded again.
    private func keepKnownAssets(
        of new: inout RecordSnapshot, over old: RecordSnapshot, _ database: Database
    ) throws {
        guard new.assetKeys.contains(where: { $0.key.hasPrefix(AssetReceipt.localPrefix) }) else {
            return
        }
        var known: [String: AssetReceipt] = [:]
        for asset in old.fields.lazy.compactMap(\.value).flatMap(\.assets) {
            guard let key = asset.fileChecksum, let kept = try file.keptFile(key, database) else {
                continue
            }
            known[AssetReceipt.localPrefix + kept.file] = asset
        }
        new.replaceAssets { asset in asset.fileChecksum.flatMap { known[$0] } ?? asset }
    }

    /// Whether an edit creates a record with the name of a deleted one that the service has or had.
    private func isRecreated(
        _ edit: LocalEdit, over old: RecordSnapshot?, _ pending: PendingRow?,
        _ base: RecordSnapshot?, _ database: Database
    ) throws -> Bool {
        guard old == nil else { return false }
        // No deletion is queued for a record that was never sent, unless its name was used before.
        if let pending { return pending.change.kind == .delete }
        return try base == nil && wasThere(edit.id, database)
    }

    /// Sets the time of an edit, also in the edit-date field; always later than the edit before it,
    /// so that the second of two edits is later even if clocks disagree.
    private func stamp(
        _ record: inout RecordSnapshot, over old: RecordSnapshot?, _ now: Int64, after last: Int64?
    ) -> Int64 {
        var edited = max(now, (last ?? .min) &+ (last == nil ? 0 : 1))
        if let key = fieldTimesKey(ofType: record.type) {
            record.stampFieldTimes(in: key, over: old, at: now, rules: resolver.fieldRules)
        }
        if let key = resolver.editStamps.countKey {
            var count: Int64 = 0
            if case .int64(let known) = old?[key] { count = known }
            record[key] = .int64(count == .max ? count : count + 1)
        }
        guard let editDateKey = editDateKey ?? resolver.editStamps.dateKey else { return edited }
        if case .timestamp(let previous, _) = record[editDateKey] {
            edited = max(edited, previous == .max ? .max : previous + 1)
        }
        record[editDateKey] = .timestamp(milliseconds: edited)
        return edited
    }

    /// The field for the times of edits in records of a type; nil if there is none.
    func fieldTimesKey(ofType type: String) -> String? {
        guard let key = resolver.fieldTimesKey else { return nil }
        return typesWithoutFieldTimes.withLock { $0.contains(type) } ? nil : key
    }

    // MARK: Deleting

    /// - Returns: whether there was anything to delete.
    private func delete(
        _ name: String, _ zone: CachedZoneRow, _ now: Int64, _ database: Database
    ) throws -> Bool {
        guard let old = try record(name, zone, database) else { return false }
        try refuseIfNewer(old)
        let pending = try pending(name, zone, database)
        if let pending, pending.isNeverSent {
            // After a loss other devices may have the record although this device creates it again; and a former record
            // of the name was at the service.
            let isKnownThere =
                try lossMilliseconds(in: zone, database) != nil
                || hasTombstone(of: old.id, database)
            try removeRecord(name, zone, deleted: now, isKnownThere: isKnownThere, database)
            try noteSent(old, pending, database)
            try removePending(pending, database)
            return true
        }
        try removeRecord(name, zone, deleted: now, database)
        try noteSent(old, pending, database)
        if var row = pending {
            if row.base == nil, row.isUnanswered,
                let server = try notedConflict(name, zone, database),
                !isRecreated(server, after: old)
            {
                row.base = server
                try forgetNotedConflict(name, zone, database)
            }
            row.change = row.change.followed(by: .delete)
            row.editedMilliseconds = now
            row.failure = nil
            try update(row, database)
        } else {
            try queue(
                .delete, name, zone, base: old.system == nil ? nil : old, editedMilliseconds: now,
                database)
        }
        return true
    }
}
