import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// The change tags of saves that the service confirmed after a zone's token. The token does not show whether such a
/// save was lost, such as by a restore from a backup, so the next fetch checks these tags.
extension CacheStore {
    /// The maximum number of epochs whose tags are kept for a zone; the oldest are dropped.
    private static let sentTagLimit = 16

    private func sentTagsName(of zone: CachedZoneRow) -> String { "sentTags/\(zone.key)" }

    /// The newest change tag of each epoch that this device got for saves and deletions since the zone's token.
    func sentTags(of id: ZoneID) throws -> [String] {
        try read { database in
            try zone(id, database).map { try sentTags(of: $0, database) } ?? []
        }
    }

    func sentTags(of zone: CachedZoneRow, _ database: Database) throws -> [String] {
        try text(named: sentTagsName(of: zone), database)?.split(separator: " ").map(String.init)
            ?? []
    }

    /// Adds the tags of saves and deletions that were confirmed.
    func addSentTags(_ tags: [String], of zone: CachedZoneRow, _ database: Database) throws {
        try setSentTags(tags.reduce(into: sentTags(of: zone, database), add), of: zone, database)
    }

    /// Keeps the tags of the records known here up to a version, the history that the service still has. The zone has
    /// no token now, so only these tags can reveal another restore before the next fetch.
    func keepTags(through version: Int64, of zone: CachedZoneRow, _ database: Database) throws {
        var kept: [String] = []
        func keep(_ tag: String) {
            guard let known = RecordSnapshot.SystemFields.version(ofTag: tag), known <= version
            else { return }
            add(&kept, tag)
        }
        try sentTags(of: zone, database).forEach(keep)
        let rows = try Row.fetchCursor(
            database.cachedStatement(
                sql: "SELECT system FROM record WHERE zone = ? AND system IS NOT NULL"),
            arguments: [zone.key])
        while let row = try rows.next() {
            let system = try row.withUnsafeData(atIndex: 0) { data in
                try data?.withUnsafeBytes { try StoredSystem.decode($0) }
            }
            if let system { keep(system.changeTag) }
        }
        kept.sort { SystemFields.version(ofTag: $0) ?? 0 < SystemFields.version(ofTag: $1) ?? 0 }
        try setSentTags(kept, of: zone, database)
    }

    private typealias SystemFields = RecordSnapshot.SystemFields

    /// Adds a tag to a list that has the newest tag of each epoch.
    private func add(_ newest: inout [String], _ tag: String) {
        guard let version = SystemFields.version(ofTag: tag) else { return }
        let epoch = tag[(tag.firstIndex(of: ".") ?? tag.endIndex)...]
        if let index = newest.firstIndex(where: { $0.hasSuffix(epoch) }) {
            let known = SystemFields.version(ofTag: newest[index]) ?? 0
            newest[index] = version > known ? tag : newest[index]
        } else {
            newest.append(tag)
        }
    }

    private func setSentTags(_ tags: [String], of zone: CachedZoneRow, _ database: Database) throws
    {
        try setText(
            tags.isEmpty ? nil : tags.suffix(Self.sentTagLimit).joined(separator: " "),
            named: sentTagsName(of: zone), database)
    }

    /// Removes the tags, when the zone's token covers everything that was sent, or the zone no longer exists.
    func forgetSentTags(of zone: CachedZoneRow, _ database: Database) throws {
        try setText(nil, named: sentTagsName(of: zone), database)
    }

    private func aheadName(of zone: CachedZoneRow) -> String { "ahead/\(zone.key)" }

    /// Notes that records of a zone were fetched: they may be newer than the database's token, which was fetched before
    /// them.
    func noteAhead(_ zone: CachedZoneRow, _ database: Database) throws {
        guard try text(named: aheadName(of: zone), database) == nil else { return }
        try setText("1", named: aheadName(of: zone), database)
    }

    /// Zones in which something was saved or deleted since they were fetched.
    func zonesWithSentTags() throws -> [ZoneID] {
        try read { database in
            try CachedZoneRow.all(
                where: """
                    \(isHere) AND state = 1
                        AND 'sentTags/' || id IN (SELECT name FROM flag WHERE \(isHere))
                    ORDER BY id
                    """, database
            ).map(\.id)
        }
    }

    /// Marks zones to be fetched in which something was saved or fetched but which the database's
    /// changes do not name, because the service may have lost it.
    func fetchZonesAhead(butFor named: Set<ZoneID>, _ database: Database) throws {
        let rows = try CachedZoneRow.all(
            where: """
                \(isHere) AND state = 1
                    AND ('sentTags/' || id IN (SELECT name FROM flag WHERE \(isHere))
                        OR 'ahead/' || id IN (SELECT name FROM flag WHERE \(isHere)))
                """, database)
        for row in rows where !named.contains(row.id) {
            try needFetch(of: row, database)
        }
        try database.cachedStatement(
            sql: "DELETE FROM flag WHERE \(isHere) AND name LIKE 'ahead/%'"
        ).execute()
    }

    // MARK: Zones

    private static let zonesTokensName = "zonesTokens"
    /// The maximum number of these tokens; the oldest are dropped.
    private static let zonesTokenLimit = 16

    /// The database's tokens that the service returned when it created or deleted zones since the
    /// last fetch. All are kept, because the service may have lost the history between two of them.
    func zonesTokens() throws -> [String] { try read { try zonesTokens($0) } }

    private func zonesTokens(_ database: Database) throws -> [String] {
        try text(named: Self.zonesTokensName, database)?.split(separator: " ").map(String.init)
            ?? []
    }

    /// Adds the token that creating or deleting a zone returned.
    func addZonesToken(_ token: String, _ database: Database) throws {
        let tokens = try zonesTokens(database) + [token]
        try setText(
            tokens.suffix(Self.zonesTokenLimit).joined(separator: " "),
            named: Self.zonesTokensName, database)
    }

    /// Removes the tokens: the database's own token covers them.
    func forgetZonesTokens(_ database: Database) throws {
        try setText(nil, named: Self.zonesTokensName, database)
    }
}
