import GRDB
import StratusRecords
import StratusSync

/// Resolving changes that the service refused for good.
extension CacheStore {
    /// A change that is set aside, as it is when the service is asked for its record.
    struct SetAsideState: Sendable {
        var generation: Int64
        /// Of the service's record that was edited.
        var changeTag: String?
    }

    /// The states of the changes that are set aside.
    func statesOfSetAside(_ ids: [RecordID]) throws -> [RecordID: SetAsideState] {
        try read { database in
            var states: [RecordID: SetAsideState] = [:]
            for id in ids {
                guard let zone = try zone(id.zoneID, database),
                    let row = try pending(id.name, zone, database), row.failure != nil
                else { continue }
                states[id] = SetAsideState(
                    generation: row.change.generation, changeTag: row.base?.system?.changeTag)
            }
            return states
        }
    }

    /// Undoes changes: the records become the service's last known ones, or are removed.
    func discardSetAside(_ ids: [RecordID]) throws -> CacheOutcome {
        try write { database, outcome in
            outcome.isLocal = true
            for id in ids {
                guard let zone = try zone(id.zoneID, database),
                    let row = try pending(id.name, zone, database), row.failure != nil
                else { continue }
                let base = row.base.flatMap { $0.system == nil ? nil : $0 }
                try replace(row, with: base, zone, &outcome, database)
            }
        }
    }

    /// Replaces changes by the service's versions, unless they were edited since the request. A version that was fetched
    /// since is newer than the answer.
    func takeInsteadOfSetAside(
        _ answers: [(id: RecordID, server: RecordSnapshot?, state: SetAsideState)]
    ) throws -> CacheOutcome {
        try write { database, outcome in
            for (id, answered, state) in answers {
                guard let zone = try zone(id.zoneID, database),
                    let row = try pending(id.name, zone, database), row.failure != nil,
                    row.change.generation == state.generation
                else { continue }
                var server = answered.map {
                    migratedLocally($0.withoutPlainValues(of: encryptedKeys(ofType: $0.type)))
                }
                if row.base?.system?.changeTag != state.changeTag {
                    guard row.base?.system != nil else { continue }
                    server = row.base
                }
                try replace(row, with: server, zone, &outcome, database)
            }
        }
    }

    private func replace(
        _ row: PendingRow, with record: RecordSnapshot?, _ zone: ZoneRow,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        try removePending(row, database)
        if let record {
            try put(record, isEdit: true, zone, database)
        } else {
            try removeRecord(row.change.id.name, zone, database)
        }
        outcome.changedIDs.insert(row.change.id)
    }
}
