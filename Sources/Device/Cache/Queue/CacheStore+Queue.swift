import Foundation
import GRDB
import StratusRecords
import StratusSync
import StratusWire

/// Handles the answers to pending changes that were sent.
extension CacheStore {
    /// Notes whether the changes of a batch that failed as a whole may nevertheless have arrived. An operation that was
    /// refused is over; one that was not answered is cancelled later.
    func noteFailure(
        of batch: [OutgoingChange], _ failure: SyncFailure, operationID: String? = nil
    ) throws {
        let ended = failure.endsOperation ? operationID : nil
        guard !batch.isEmpty || ended != nil else { return }
        try file.write { database in
            if let ended { try endOperation(ended, database) }
            try note(
                failure.leavesArrivalUnknown ? "1" : "CASE isUncertain WHEN 2 THEN 0 ELSE 1 END",
                of: batch.map(\.sequence), database)
            // Deletions of new records whose saves were refused meanwhile; see `PendingRow.deletesWhatWasRefused`.
            try note(
                "CASE WHEN kind = 1 AND baseSystem IS NULL THEN max(isUncertain, 1) ELSE isUncertain END",
                of: batch.map(\.sequence), database)
        }
    }

    func note(
        _ isUncertain: String, of sequences: [Int64], _ database: Database
    ) throws {
        guard !sequences.isEmpty else { return }
        let list = sequences.map { "\($0)" }.joined(separator: ",")
        try database.execute(
            sql: "UPDATE pending SET isUncertain = \(isUncertain) WHERE sequence IN (\(list))")
    }

    /// Stores the outcome of a batch, in one transaction.
    ///
    /// - Parameters:
    ///   - wereSent: whether the answers are to the records, not to uploads of their files.
    ///   - operationID: the identifier of the request that was answered.
    func confirm(
        _ batch: [OutgoingChange], _ answers: [OutgoingAnswer], _ dispositions: [ItemDisposition],
        wereSent: Bool = true, operationID: String? = nil
    ) throws -> CacheOutcome {
        try write { database, outcome in
            // After a sign-out in another process the next user may have a zone of the same name.
            try checkUser(database)
            if let operationID { try endOperation(operationID, database) }
            let saved = answers.compactMap { answer -> Int64? in
                if case .saved(let system) = answer { system.modifiedMilliseconds } else { nil }
            }
            try noteTimes(saved: saved, database)
            if dispositions.contains(.confirmed) {
                try setFlag(.lastSend, "\(world.nowMilliseconds())", database)
            }
            try noteSentTags(batch, answers, database)
            for ((item, answer), disposition) in zip(zip(batch, answers), dispositions) {
                let id = item.change.id
                guard case (let zone, var row)? = try sent(item, database) else { continue }
                // The record was edited or deleted while the file of a former edit was uploaded.
                if !wereSent, row.change.generation != item.change.generation { continue }
                if case .failed(let failure, _) = answer {
                    row.noteDelivery(of: failure)
                    if row.deletesWhatWasRefused {
                        row.delivery = .unknown
                        outcome.staleZones.insert(id.zoneID)
                    }
                    try update(row, database)
                }
                switch disposition {
                case .confirmed: try confirm(item, answer, row, zone, database)
                case .conflict:
                    if case .failed(_, let server?) = answer,
                        try !mayBeLost(row, server, zone, database)
                    {
                        try resolveConflict(
                            server, row, zone, countsRound: true, &outcome, database)
                    } else {
                        try awaitChanges(of: zone, row, &outcome, database)
                    }
                case .deletedElsewhere where try mayBeLost(row, nil, zone, database):
                    try awaitChanges(of: zone, row, &outcome, database)
                case .deletedElsewhere: try receiveDeletion(of: id.name, zone, &outcome, database)
                case .pending: break
                case .countAttempt:
                    row.change.attempts += 1
                    try update(row, database)
                    try moveBehind(row, database)
                case .setAside(let failure):
                    if wereSent,
                        try isTriedWithoutFieldTimes(item, &row, failure, zone, &outcome, database)
                    {
                        break
                    }
                    if try isUploadedAgain(item, &row, failure, zone, database) { break }
                    try setAside(row, item.change, failure, &outcome, database)
                }
            }
        }
    }

    /// Sets aside every item of a batch that failed as a whole and cannot be divided further.
    func setAside(_ batch: [OutgoingChange], _ failure: SyncFailure) throws -> CacheOutcome {
        try write { database, outcome in
            for item in batch {
                guard let (_, row) = try sent(item, database) else { continue }
                try setAside(row, item.change, failure, &outcome, database)
            }
        }
    }

    /// The rows of a change that was sent; nil if a different change with this ID was made after the zone was
    /// deleted.
    private func sent(
        _ item: OutgoingChange, _ database: Database
    ) throws -> (zone: CachedZoneRow, row: PendingRow)? {
        let id = item.change.id
        if let zone = try zone(id.zoneID, database),
            let row = try pending(id.name, zone, database), row.sequence == item.sequence
        {
            return (zone, row)
        }
        // A row that is not found by its own name would be sent again and again.
        let isLost = try Bool.fetchOne(
            database.cachedStatement(
                sql: "SELECT EXISTS (SELECT 1 FROM pending WHERE sequence = ?)"),
            arguments: [item.sequence])
        if isLost == true {
            throw CacheError.damaged(WireError("A pending change has no record name."))
        }
        return nil
    }

    private func confirm(
        _ item: OutgoingChange, _ answer: OutgoingAnswer, _ row: PendingRow, _ zone: CachedZoneRow,
        _ database: Database
    ) throws {
        var row = row
        let isLatest = !item.isOfFormer && row.change.generation == item.change.generation
        switch answer {
        case .saved(let answered):
            let system = try keepingLinkKey(
                answered, of: item.change.id.name, base: item.client, zone, database)
            if row.change.kind == .save {
                try putSystem(system, of: item.change.id.name, zone, database)
            }
            if isLatest { return try removePending(row, database) }
            // Edited again meanwhile: the base of the later edit is the record that the service has
            // now.
            row.base = item.client
            row.base?.system = system
            row.earlier = []
            row.delivery = .notSent
        case .deleted, .failed:
            var version: Int64?
            if case .deleted(let tag) = answer {
                version = tag.flatMap { RecordSnapshot.SystemFields.version(ofTag: $0) }
                // If a restore brought back the former record, its deletion does not tell other devices that the later
                // record of the name was deleted too.
                let isOfFormer = try row.base.map { try isFormer($0, database) } ?? false
                try noteDeletion(
                    of: item.change.id, version: isOfFormer ? nil : version, database)
            }
            if version == nil { try noteGone(item.base, database) }
            if isLatest { return try removePending(row, database) }
            // The zone's changes have not reported the deletion of the former record yet.
            row.base = nil
            row.earlier = []
            row.delivery = .notSent
            if row.isRecreated { try needFetch(of: zone, database) }
            try putSystem(nil, of: item.change.id.name, zone, database)
        }
        try update(row, database)
    }

    /// Moves a change to the end of the queue, because it may depend on others in it.
    private func moveBehind(_ row: PendingRow, _ database: Database) throws {
        // Also advances the counter, so that no later change gets the same number.
        try database.execute(sql: "UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'pending'")
        try database.execute(
            sql: """
                UPDATE pending SET sequence =
                    (SELECT seq FROM sqlite_sequence WHERE name = 'pending') WHERE sequence = ?
                """, arguments: [row.sequence])
    }

    private func noteSentTags(
        _ batch: [OutgoingChange], _ answers: [OutgoingAnswer], _ database: Database
    ) throws {
        var tags: [ZoneID: [String]] = [:]
        for (item, answer) in zip(batch, answers) {
            let tag: String?
            switch answer {
            case .saved(let system): tag = system.changeTag
            case .deleted(let tombstoneTag): tag = tombstoneTag
            // The answer has a state that this device has not fetched yet. It may be that of its own save whose answer
            // was lost.
            case .failed(_, let server): tag = server?.system?.changeTag
            }
            if let tag { tags[item.change.id.zoneID, default: []].append(tag) }
        }
        for (id, tags) in tags.sorted(by: { $0.key.name < $1.key.name }) {
            // A zone that was deleted here during the request: the next one of its name has another history.
            guard let zone = try zone(id, database),
                zone.state != .unwanted, zone.state != .replaced
            else { continue }
            try addSentTags(tags, of: zone, database)
        }
    }

    /// Lets the zone's changes decide what happened to a record, even if the process ends before they are fetched.
    private func awaitChanges(
        of zone: CachedZoneRow, _ row: PendingRow, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        var row = row
        row.change.conflictRounds += 1
        try update(row, database)
        try needFetch(of: zone, database)
        try setAwaited(true, zone, database)
        outcome.staleZones.insert(zone.id)
    }

    private func awaitedName(of zone: CachedZoneRow) -> String { "awaited/\(zone.key)" }

    /// Whether refused changes wait for the changes of a zone.
    func isAwaited(_ zone: CachedZoneRow, _ database: Database) throws -> Bool {
        try text(named: awaitedName(of: zone), database) != nil
    }

    func setAwaited(_ isAwaited: Bool, _ zone: CachedZoneRow, _ database: Database) throws {
        try setText(isAwaited ? "1" : nil, named: awaitedName(of: zone), database)
    }

    func setAside(
        _ row: PendingRow, _ sent: PendingChange, _ failure: SyncFailure,
        _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        // A change that was edited meanwhile is a new one, and is tried on its own.
        guard row.change.generation == sent.generation else { return }
        var row = row
        row.failure = failure
        try update(row, database)
        outcome.events.append(.setAside(AttentionItem(row.change, failure, scope)))
    }

    /// Retries changes that were set aside, with their zones; all of them if `ids` is nil.
    ///
    /// - Returns: zones that must be created.
    func retrySetAside(_ ids: [RecordID]?) throws -> [ZoneID] {
        try file.write { database in
            let reset =
                "UPDATE pending SET errorCode = NULL, errorMessage = NULL, rounds = 0, attempts = 0"
            var zones: Set<ZoneID> = []
            if let ids {
                for id in ids {
                    guard let zone = try zone(id.zoneID, database) else { continue }
                    zones.insert(id.zoneID)
                    try database.cachedStatement(sql: "\(reset) WHERE zone = ? AND name = ?")
                        .execute(arguments: [zone.key, id.name])
                }
            } else {
                try database.cachedStatement(
                    sql: "\(reset) WHERE errorCode IS NOT NULL AND zone IN \(zonesHere)"
                ).execute()
                zones = Set(
                    try CachedZoneRow.all(where: "\(isHere) AND state = 4", database).map(\.id))
            }
            try file.noteChange(of: [], in: scope, database)
            var wanted: [ZoneID] = []
            for id in zones {
                guard let row = try zone(id, database), row.state == .refused else { continue }
                try setState(.wanted, of: row, database)
                wanted.append(id)
            }
            return wanted
        }
    }
}

extension RecordSnapshot {
    /// The approximate size of the record in a request.
    var sizeEstimateBytes: Int { fieldsData.count + id.name.utf8.count + 128 }
}

extension PendingRow {
    /// Whether this deletes a new record whose save was refused. Without a change tag it would delete a record that
    /// others created under the name meanwhile, so it waits for the zone's changes, which show whether there is such a
    /// record or nothing to delete.
    fileprivate var deletesWhatWasRefused: Bool {
        change.kind == .delete && base?.system == nil && delivery == .notSent
    }

    /// Notes an answer: the change is known not to have arrived, unless an earlier answer was lost.
    fileprivate mutating func noteDelivery(of failure: SyncFailure) {
        guard delivery == .underWay else { return }
        delivery = failure.leavesArrivalUnknown ? .unknown : .notSent
    }
}

extension SyncFailure {
    /// Whether the request may nevertheless have been carried out.
    var leavesArrivalUnknown: Bool {
        switch code {
        case .networkFailure, .serverResponseLost, .operationCancelled, .internalError: true
        default: false
        }
    }
}
