import Foundation
import GRDB
import StratusRecords
import StratusSync

/// A record with a pending change meets the service's version of it.
extension CacheStore {
    /// Decides what becomes of the local change, and takes the service's record as its new base.
    ///
    /// - Parameter countsRound: whether this counts against the bound of resending; a page of changes
    ///   does not, as each comes from a real edit elsewhere.
    func meet(
        _ answered: RecordSnapshot, _ pending: PendingRow, _ zone: ZoneRow, countsRound: Bool,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        var row = pending
        let name = answered.id.name
        let here = try record(name, zone, database)
        // Whatever the service wrote in the clear into an encrypted field reaches no resolver.
        let server = answered.withoutPlainValues(
            of: encryptedKeys(ofType: answered.type).union(here?.encryptedKeys ?? [])
                .union(row.base?.encryptedKeys ?? []))
        guard row.change.kind == .save, let client = here else {
            // Deleted here: stays deleted, whatever was edited elsewhere.
            row.base = server
            row.change.attempts += countsRound ? 1 : 0
            try update(row, database)
            return
        }
        if client.hasSameContent(as: server) {
            // Our own save, whose answer was lost, or the same edit by somebody else.
            try removePending(row, database)
            try putSystem(server.system, of: name, zone, database)
            return
        }
        if let base = row.base, base.system == server.system {
            try putSystem(server.system, of: name, zone, database)
            return
        }
        if row.earlier.contains(server.digest) {
            // An earlier edit of ours arrived without our hearing of it: the later one goes on from it.
            try rebase(&row, on: server, zone, database)
            return
        }
        let conflict = SyncConflict(
            ancestor: row.base, client: client, server: server,
            clientEditedMilliseconds: row.editedMilliseconds)
        row.change.conflictRounds += countsRound ? 1 : 0
        switch resolver.resolve(conflict) {
        case .keepServer: try yield(conflict, row, zone, &outcome, database)
        case .keepClient:
            try resolve(conflict, as: conflict.clientOverServer, &row, zone, &outcome, database)
        case .halt(let reason): outcome.haltReason = reason
        case .save(let fields):
            let merged = conflict.server(with: fields)
            if merged.hasSameContent(as: server) {
                try yield(conflict, row, zone, &outcome, database)
                return
            }
            try resolve(conflict, as: merged, &row, zone, &outcome, database)
        }
    }

    /// Both sides' work in one record, which is sent again.
    private func resolve(
        _ conflict: SyncConflict, as merged: RecordSnapshot, _ row: inout PendingRow,
        _ zone: ZoneRow, _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        if !merged.hasSameContent(as: conflict.client) {
            try put(merged, zone, database)
            row.change.generation += 1
            outcome.changedIDs.insert(merged.id)
        }
        if merged.hasSameContent(as: conflict.server) {
            // Everything that was changed here is there already.
            try removePending(row, database)
            try putSystem(conflict.server.system, of: merged.id.name, zone, database)
        } else {
            try rebase(&row, on: conflict.server, zone, database)
        }
    }

    private func yield(
        _ conflict: SyncConflict, _ row: PendingRow, _ zone: ZoneRow, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        try removePending(row, database)
        try put(conflict.server, zone, database)
        outcome.changedIDs.insert(conflict.server.id)
        outcome.events.append(
            .editOverruled(
                client: try conflict.clientRecord(), server: try conflict.serverRecord()))
    }

    private func rebase(
        _ row: inout PendingRow, on server: RecordSnapshot, _ zone: ZoneRow, _ database: Database
    ) throws {
        row.base = server
        row.earlier = []
        row.isMadeAnew = false
        row.isUncertain = false
        try update(row, database)
        try putSystem(server.system, of: server.id.name, zone, database)
    }
}
