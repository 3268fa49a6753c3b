import GRDB
import StratusRecords
import StratusSync

/// Resolving changes that the service permanently refused.
extension CacheStore {
    /// The edit of a change, and the service's version that it is based on.
    struct SetAsideGeneration: Equatable {
        var generation: Int64
        var baseTag: String?

        fileprivate init(_ row: PendingRow) {
            generation = Int64(row.change.generation)
            baseTag = row.base?.system?.changeTag
        }
    }

    /// The generations of the changes that are set aside.
    func generationsOfSetAside(_ ids: [RecordID]) throws -> [RecordID: SetAsideGeneration] {
        try read { database in
            var generations: [RecordID: SetAsideGeneration] = [:]
            for id in ids {
                guard let zone = try zone(id.zoneID, database),
                    let row = try pending(id.name, zone, database), row.failure != nil
                else { continue }
                generations[id] = SetAsideGeneration(row)
            }
            return generations
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

    /// Replaces changes by the service's versions, unless they were edited since the request, or a fetch has received
    /// another version: that one may be newer, and would not be fetched again.
    func takeInsteadOfSetAside(
        _ answers: [(id: RecordID, server: RecordSnapshot?, generation: SetAsideGeneration)]
    ) throws -> CacheOutcome {
        try write { database, outcome in
            for (id, answered, generation) in answers {
                guard let zone = try zone(id.zoneID, database),
                    let row = try pending(id.name, zone, database), row.failure != nil,
                    SetAsideGeneration(row) == generation
                else { continue }
                var server = answered.map {
                    migratedLocally($0.withoutPlainValues(of: encryptedKeys(ofType: $0.type)))
                }
                let system = try keepingLinkKey(
                    server?.system, of: id.name, base: row.base, zone, database)
                server?.system = system
                guard try !mayBeLost(row, server, zone, database) else {
                    // The state that the service confirmed earlier may exist only here now. The zone's next fetch shows
                    // whether it must be deleted or sent again.
                    try replace(row, with: row.base, zone, &outcome, database)
                    try needFetch(of: zone, database)
                    outcome.staleZones.insert(zone.id)
                    continue
                }
                try replace(row, with: server, zone, &outcome, database)
                // The service may lose this version before it is fetched.
                if let tag = server?.system?.changeTag {
                    try addSentTags([tag], of: zone, database)
                }
            }
        }
    }

    private func replace(
        _ row: PendingRow, with record: RecordSnapshot?, _ zone: CachedZoneRow,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws {
        try removePending(row, database)
        if let record {
            try put(record, isEdit: true, zone, database)
        } else {
            // The service never had the new record, and may lose the deletion of the former record of its name.
            try removeRecord(
                row.change.id.name, zone, keepsTombstone: row.base == nil, database)
        }
        outcome.changedIDs.insert(row.change.id)
    }
}
