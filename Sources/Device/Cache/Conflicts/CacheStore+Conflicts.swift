import Foundation
import GRDB
import StratusRecords
import StratusSync

/// Conflicts between a pending change and the service's version of its record.
extension CacheStore {
    /// Resolves the conflict, and makes the service's record the new base of the local change.
    ///
    /// - Parameter countsRound: whether this counts towards the limit of resends. A conflict in a page of changes does
    ///   not, because each one comes from a real edit elsewhere.
    func resolveConflict(
        _ received: RecordSnapshot, _ pending: PendingRow, _ zone: CachedZoneRow, countsRound: Bool,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        var answered = received
        answered.system = try keepingLinkKey(
            answered.system, of: answered.id.name, base: pending.base, zone, database)
        if pending.change.kind == .delete {
            try noteReceived(answered.id.name, zone, database)
        }
        try decide(answered, pending, zone, countsRound: countsRound, &outcome, database)
        // A value that an older app wrote may have won, so the record may have to be migrated.
        if isOlder(answered) {
            try migrateAsEdit(answered.id.name, zone, &outcome, database)
        }
    }

    private func decide(
        _ answered: RecordSnapshot, _ pending: PendingRow, _ zone: CachedZoneRow, countsRound: Bool,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        var row = pending
        let name = answered.id.name
        let here = try record(name, zone, database)
        // A plain value of the service in an encrypted field does not reach the resolver.
        let server = migratedLocally(
            answered.withoutPlainValues(
                of: encryptedKeys(ofType: answered.type).union(here?.encryptedKeys ?? [])
                    .union(row.base?.encryptedKeys ?? [])))
        if try resolveNewerRecord(server, row, zone, &outcome, database) { return }
        guard row.change.kind == .save, let client = here else {
            row.change.conflictRounds += countsRound ? 1 : 0
            return try keepDeletion(here: row, server, zone, &outcome, database)
        }
        if client.hasSameContent(as: server) {
            // The service has this device's own save, whose answer was lost, or the same edit from elsewhere.
            try removePending(row, database)
            try putSystem(server.system, of: name, zone, database)
            return
        }
        if let base = row.base, base.system == server.system {
            try putSystem(server.system, of: name, zone, database)
            return try takeReadable(server, client, &row, zone, &outcome, database)
        }
        let isOfAnother = row.base?.isOfAnotherRecord(than: server)
        if try isOfAnother == false && deletesFormer(row, zone, database) {
            // The former record will be deleted before this one is saved, so there is no conflict.
            row.base = server
            row.change.conflictRounds += countsRound ? 1 : 0
            try update(row, database)
            try putSystem(server.system, of: name, zone, database)
            return
        }
        if isOfAnother == true {
            if !row.isRecreated,
                try isGivenUp(client, for: server, row, zone, &outcome, database)
            {
                return
            }
            row.base = nil
        }
        let (ancestor, hasForeignFields) = ancestor(of: client, server, row)
        if let ancestor, !hasForeignFields, row.base?.hasSameContent(as: ancestor) != true {
            // An earlier edit of this device arrived and its answer was lost: it is the base of the
            // later one.
            try rebase(&row, on: server, zone, database)
            return
        }
        // All records are migrated before they are compared, so that an older app's edit counts as an edit of the
        // migrated record.
        let conflict = SyncConflict(
            ancestor: ancestor.map { migrated($0, like: client) }, client: client,
            server: migrated(server, like: client),
            clientEditedMilliseconds: row.editedMilliseconds)
        row.change.conflictRounds += countsRound ? 1 : 0
        let merged: RecordSnapshot
        switch isOfNewerApp(conflict) ? .keepServer : resolver.resolve(conflict) {
        case .keepServer: return try yield(conflict, to: server, row, zone, &outcome, database)
        case .halt(let reason):
            outcome.haltReason = reason
            return
        case .keepClient: merged = conflict.clientOverServer
        case .save(let fields): merged = conflict.server(with: fields)
        case .merge(let record): merged = record
        }
        try resolve(conflict, as: merged, over: server, &row, zone, &outcome, database)
    }

    /// Whether the record here is one that a newer app wrote and a restore lost, and an older app has edited the
    /// service's since. This app cannot migrate the service's record, and values of two forms do not belong together:
    /// the newer app merges them, on a device that has the lost record too, or from the report.
    private func isOfNewerApp(_ conflict: SyncConflict) -> Bool {
        guard let here = version(of: conflict.client), here.found > here.current else {
            return false
        }
        return version(of: conflict.server).map { $0.found < here.found } ?? false
    }

    /// A record that was deleted here stays deleted, regardless of edits elsewhere, unless it no longer exists and
    /// another record of its name was created since.
    private func keepDeletion(
        here pending: PendingRow, _ server: RecordSnapshot, _ zone: CachedZoneRow,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        if try isOfAnotherRecord(server, than: pending, zone, database) {
            try removePending(pending, database)
            try put(server, zone, database)
            outcome.changedIDs.insert(server.id)
            return
        }
        var row = pending
        row.base = server
        try update(row, database)
    }

    /// Whether a record of the service is not the record of a pending deletion.
    func isOfAnotherRecord(
        _ server: RecordSnapshot, than deletion: PendingRow, _ zone: CachedZoneRow,
        _ database: Database
    ) throws -> Bool {
        try isRecreated(server, after: deletion.base, database)
            || deletion.base?.isOfAnotherRecord(than: server) == true
                && !isSentAgain(server, deletion, zone, database)
    }

    /// Handles an edit of a record that was deleted elsewhere, after which another record of its
    /// name was created.
    ///
    /// - Returns: whether the edit is discarded with the former record.
    private func isGivenUp(
        _ client: RecordSnapshot, for server: RecordSnapshot, _ row: PendingRow,
        _ zone: CachedZoneRow,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws -> Bool {
        let resolution = resolver.resolveDeletion(
            of: client, clientEditedMilliseconds: row.editedMilliseconds)
        guard resolution == .acceptDeletion else { return false }
        try removePending(row, database)
        try put(server, zone, database)
        outcome.changedIDs.insert(server.id)
        outcome.events.append(.editOfDeletedRecord(client: try client.record()))
        return true
    }

    /// The common ancestor of both versions as far as this device knows it. Values that this device sent earlier
    /// without getting an answer are part of it if the service has them.
    ///
    /// - Returns: the ancestor, and whether the service has a value that is neither of these nor this device's own, or
    ///   lacks one that may have been sent.
    private func ancestor(
        of client: RecordSnapshot, _ server: RecordSnapshot, _ row: PendingRow
    ) -> (RecordSnapshot?, hasForeignFields: Bool) {
        guard !row.earlier.isEmpty else { return (row.base, true) }
        var ancestor = row.base ?? RecordSnapshot(id: client.id, type: server.type)
        let earlier = Set(row.earlier)
        let timesKey = fieldTimesKey(ofType: client.type)
        var hasForeignFields = false
        let names = Set(
            (server.fields + client.fields + ancestor.fields).map(\.name))
        for name in names where name != timesKey {
            if server.field(name) == ancestor.field(name) {
                // A value that was sent, and not edited here since, is missing: if it arrived, someone reverted it.
                if server.field(name) != client.field(name),
                    !earlier.contains(server.mark(ofField: name))
                {
                    hasForeignFields = true
                }
            } else if earlier.contains(server.mark(ofField: name)) {
                ancestor.replace(name, from: server)
            } else if server.field(name) != client.field(name) {
                hasForeignFields = true
            }
        }
        if server.parentRecordName == ancestor.parentRecordName {
            if server.parentRecordName != client.parentRecordName,
                !earlier.contains(server.parentMark)
            {
                hasForeignFields = true
            }
        } else if earlier.contains(server.parentMark) {
            ancestor.parentRecordName = server.parentRecordName
        } else if server.parentRecordName != client.parentRecordName {
            hasForeignFields = true
        }
        return (row.base == nil && ancestor.fields.isEmpty ? nil : ancestor, hasForeignFields)
    }

    /// Merges both sides into one record, which is sent again.
    ///
    /// - Parameter server: the service's record as the service has it.
    private func resolve(
        _ conflict: SyncConflict, as merged: RecordSnapshot, over server: RecordSnapshot,
        _ row: inout PendingRow, _ zone: CachedZoneRow, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        if !merged.hasSameContent(as: conflict.client) {
            try put(merged, zone, database)
            row.change.generation += 1
            outcome.changedIDs.insert(merged.id)
        }
        try reportResolution(of: conflict, against: merged, &outcome)
        if merged.hasSameContent(as: server) {
            // The service's record already has all local changes.
            try removePending(row, database)
            try putSystem(server.system, of: merged.id.name, zone, database)
        } else {
            try rebase(&row, on: server, zone, database)
        }
    }

    private func yield(
        _ conflict: SyncConflict, to server: RecordSnapshot, _ row: PendingRow,
        _ zone: CachedZoneRow,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        try removePending(row, database)
        try put(server, zone, database)
        outcome.changedIDs.insert(server.id)
        try reportResolution(of: conflict, against: conflict.server, &outcome)
    }

    /// Reports to the app which edits were overruled, this device's and others'.
    func reportResolution(
        of conflict: SyncConflict, against kept: RecordSnapshot, _ outcome: inout CacheOutcome
    ) throws {
        let stamps = resolver.editStamps
        let own = [
            fieldTimesKey(ofType: kept.type), editDateKey, stamps.dateKey, stamps.countKey,
            versions.declarations[kept.type]?.key,
        ]
        let lost = conflict.overruledKeys(by: kept).filter { !own.contains($0) }
        if !lost.isEmpty {
            outcome.events.append(
                .editOverruled(
                    client: try conflict.clientRecord(), server: try conflict.serverRecord(),
                    keys: lost))
        }
        let others = conflict.overruledServerKeys(by: kept).filter { !own.contains($0) }
        guard !others.isEmpty else { return }
        outcome.events.append(
            .remoteEditOverruled(
                client: try conflict.clientRecord(), server: try conflict.serverRecord(),
                keys: others))
    }

    private func rebase(
        _ row: inout PendingRow, on server: RecordSnapshot, _ zone: CachedZoneRow,
        _ database: Database
    ) throws {
        // The service still has the record that was deleted here, or has it again after a loss; if records have no
        // field of times, only this device knows that.
        let here = try record(server.id.name, zone, database)
        row.isRecreated =
            try fieldTimesKey(ofType: server.type) == nil
            ? row.isRecreated && (row.base != nil || row.delivery == .notSent)
            : isRecreated(here, after: server)
                && (row.isRecreated
                    || row.base == nil && lossMilliseconds(in: zone, database) != nil)
        row.isMoved = here.map { !$0.deleteSelfNames(leftSince: server).isEmpty } ?? false
        row.base = server
        row.earlier = []
        row.delivery = .notSent
        try update(row, database)
        try putSystem(server.system, of: server.id.name, zone, database)
    }

    /// Whether a record's times show that it was created after another one of its name was deleted.
    func isRecreated(_ record: RecordSnapshot?, after other: RecordSnapshot) -> Bool {
        guard let made = record.flatMap({ recreatedMilliseconds($0) }) else { return false }
        return made > recreatedMilliseconds(other) ?? .min
    }
}
