import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// Records that this version of the app cannot read, such as those with fields of a later form.
///
/// What is here of such a record stays, a report tells the app, and the zone's other changes are applied. The flag
/// `unreadable/ZONE/NAME` keeps its name: it is read again when it changes, and once by each process, whose app may be
/// newer.
extension CacheStore {
    private func unreadableFlag(_ name: String, _ zone: CachedZoneRow) -> String {
        "unreadable/\(zone.key)/\(name)"
    }

    /// The names of a zone's records that could not be read.
    func unreadableNames(in zone: CachedZoneRow, _ database: Database) throws -> [String] {
        let prefix = unreadableFlag("", zone)
        let flags = try String.fetchAll(
            database.cachedStatement(
                sql:
                    "SELECT name FROM flag WHERE \(isHere) AND name > ? AND name < ? ORDER BY name"),
            arguments: [prefix, "unreadable/\(zone.key)0"])
        return flags.map {
            String(decoding: $0.utf8.dropFirst(prefix.utf8.count), as: UTF8.self)
        }
    }

    /// Notes the records of a page that cannot be read, and forgets those that it has or reports as deleted.
    func receiveUnreadable(
        of page: ZonePage, _ zone: CachedZoneRow, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws {
        var known = Set(try unreadableNames(in: zone, database))
        if !known.isEmpty {
            for name in page.records.map(\.name) + page.deletedNames
            where known.remove(name) != nil {
                try setText(nil, named: unreadableFlag(name, zone), database)
            }
        }
        for (name, failure) in page.unreadable.sorted(by: { $0.key < $1.key }) {
            // A running full fetch has received the record, so what is here of it was not deleted.
            if zone.isRefetching { try putPass(of: name, zone, database) }
            let flag = unreadableFlag(name, zone)
            triedRecords.withLock { _ = $0.insert(flag) }
            guard known.insert(name).inserted else { continue }
            try setText(failure.message, named: flag, database)
            let id = RecordID(name: name, zoneID: zone.id)
            outcome.events.append(.recordUnreadable(CKRecord.ID(id), failure))
        }
    }

    /// The records of a zone that could not be read, and that this process has not tried to read.
    func untriedRecords(in id: ZoneID) throws -> [RecordID] {
        try read { database in
            guard let zone = try zone(id, database) else { return [] }
            let tried = triedRecords.withLock { $0 }
            return try unreadableNames(in: zone, database)
                .filter { !tried.contains(unreadableFlag($0, zone)) }
                .map { RecordID(name: $0, zoneID: id) }
        }
    }

    /// The zones with such records, by the key of their row.
    func zonesWithUntriedRecords(_ database: Database) throws -> Set<Int64> {
        let flags = try String.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT name FROM flag
                    WHERE \(isHere) AND name > 'unreadable/' AND name < 'unreadable0'
                    """))
        let tried = triedRecords.withLock { $0 }
        return Set(
            flags.filter { !tried.contains($0) }.compactMap { flag in
                flag.split(separator: "/", maxSplits: 2).dropFirst().first.flatMap { Int64($0) }
            })
    }

    /// Forgets records that no longer exist.
    func forgetUnreadable(_ ids: [RecordID]) throws {
        guard !ids.isEmpty else { return }
        try file.write { database in
            for id in ids {
                guard let zone = try zone(id.zoneID, database) else { continue }
                try setText(nil, named: unreadableFlag(id.name, zone), database)
            }
        }
    }

    /// Forgets the records of a zone that is deleted.
    func forgetUnreadable(in zone: CachedZoneRow, _ database: Database) throws {
        try database.execute(
            sql: "DELETE FROM flag WHERE \(isHere) AND name LIKE 'unreadable/\(zone.key)/%'")
    }
}
