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
        _ server: RecordSnapshot, _ pending: PendingRow, _ zone: ZoneRow, countsRound: Bool,
        _ news: inout CacheNews, _ database: Database
    ) throws {
        var row = pending
        let name = server.id.name
        guard row.change.kind == .save, let client = try record(name, zone, database) else {
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
        case .keepServer: try yield(conflict, row, zone, &news, database)
        case .keepClient: try rebase(&row, on: server, zone, database)
        case .halt(let reason): news.haltReason = reason
        case .save(let fields):
            var merged = server
            merged.setFields(fields)
            if merged.hasSameContent(as: server) {
                try yield(conflict, row, zone, &news, database)
                return
            }
            try put(merged, zone, database)
            row.change.generation += 1
            try rebase(&row, on: server, zone, database)
            news.changedIDs.insert(server.id)
        }
    }

    private func yield(
        _ conflict: SyncConflict, _ row: PendingRow, _ zone: ZoneRow, _ news: inout CacheNews,
        _ database: Database
    ) throws {
        try removePending(row, database)
        try put(conflict.server, zone, database)
        news.changedIDs.insert(conflict.server.id)
        news.events.append(
            .editOverruled(
                client: try conflict.clientRecord(), server: try conflict.serverRecord()))
    }

    private func rebase(
        _ row: inout PendingRow, on server: RecordSnapshot, _ zone: ZoneRow, _ database: Database
    ) throws {
        row.base = server
        row.earlier = []
        try update(row, database)
        try putSystem(server.system, of: server.id.name, zone, database)
    }
}
