import GRDB
import StratusRecords
import StratusSync

/// What the service acknowledged above a zone's token: no token tells whether it was lost, as by a restore of an older
/// copy, so the tags of it are asked about with the next fetch.
extension CacheStore {
    /// How many epochs' tags a zone keeps; the oldest give way.
    private static let sentTagLimit = 16

    private func sentTagsName(of zone: ZoneRow) -> String { "sentTags/\(zone.key)" }

    /// The newest change tag of each epoch that this device got for saves and deletions since the zone's token.
    ///
    /// - Returns: none while a full fetch finds out what was lost.
    func sentTags(of id: ZoneID) throws -> [String] {
        try read { database in
            guard let zone = try zone(id, database),
                try lastIntactVersion(of: zone, database) == nil
            else { return [] }
            return try sentTags(of: zone, database)
        }
    }

    func sentTags(of zone: ZoneRow, _ database: Database) throws -> [String] {
        try text(named: sentTagsName(of: zone), database)?.split(separator: " ").map(String.init)
            ?? []
    }

    /// Notes the tags of saves and deletions that were acknowledged.
    func addSentTags(_ tags: [String], of zone: ZoneRow, _ database: Database) throws {
        var newest = try sentTags(of: zone, database)
        for tag in tags {
            guard let version = RecordSnapshot.SystemFields.version(ofTag: tag) else { continue }
            let epoch = tag[(tag.firstIndex(of: ".") ?? tag.endIndex)...]
            if let index = newest.firstIndex(where: { $0.hasSuffix(epoch) }) {
                let known = RecordSnapshot.SystemFields.version(ofTag: newest[index]) ?? 0
                newest[index] = version > known ? tag : newest[index]
            } else {
                newest.append(tag)
            }
        }
        try setText(
            newest.suffix(Self.sentTagLimit).joined(separator: " "), named: sentTagsName(of: zone),
            database)
    }

    /// The zone's token covers all that was sent, or nothing of it is left.
    func forgetSentTags(of zone: ZoneRow, _ database: Database) throws {
        try setText(nil, named: sentTagsName(of: zone), database)
    }

    private func aheadName(of zone: ZoneRow) -> String { "ahead/\(zone.key)" }

    /// Notes that something of a zone was fetched which may be newer than the database's token: not because the database's
    /// changes named it.
    func noteAhead(_ zone: ZoneRow, _ database: Database) throws {
        let isNamed = try Bool.fetchOne(
            database.cachedStatement(sql: "SELECT needsFetch FROM zone WHERE id = ?"),
            arguments: [zone.key])
        guard isNamed == false, try text(named: aheadName(of: zone), database) == nil
        else { return }
        try setText("1", named: aheadName(of: zone), database)
    }

    /// Lets zones be fetched that the database's changes would name for what was saved or fetched there, if the service
    /// still had it.
    func fetchZonesAhead(butFor named: Set<ZoneID>, _ database: Database) throws {
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT \(ZoneRow.columns) FROM zone WHERE \(isHere) AND state = 1
                        AND ('sentTags/' || id IN (SELECT name FROM flag WHERE \(isHere))
                            OR 'ahead/' || id IN (SELECT name FROM flag WHERE \(isHere)))
                    """))
        for row in rows.map({ ZoneRow($0) }) where !named.contains(row.id) {
            try needFetch(of: row, database)
        }
        try database.cachedStatement(
            sql: "DELETE FROM flag WHERE \(isHere) AND name LIKE 'ahead/%'"
        ).execute()
    }

    // MARK: Zones

    private static let zonesTokensName = "zonesTokens"
    /// How many of them are kept; the oldest give way.
    private static let zonesTokenLimit = 16

    /// The tokens of the database that the service gave as it made or deleted zones since the last fetch. All of them: it
    /// may have lost the history of one between two.
    func zonesTokens() throws -> [String] { try read { try zonesTokens($0) } }

    private func zonesTokens(_ database: Database) throws -> [String] {
        try text(named: Self.zonesTokensName, database)?.split(separator: " ").map(String.init)
            ?? []
    }

    /// Notes the token of what was done.
    func addZonesToken(_ token: String, _ database: Database) throws {
        let tokens = try zonesTokens(database) + [token]
        try setText(
            tokens.suffix(Self.zonesTokenLimit).joined(separator: " "),
            named: Self.zonesTokensName, database)
    }

    /// The database's own token covers what was done, or was dropped.
    func forgetZonesTokens(_ database: Database) throws {
        try setText(nil, named: Self.zonesTokensName, database)
    }

    // MARK: Flags with a name of their own

    func text(named name: String, _ database: Database) throws -> String? {
        try String.fetchOne(
            database.cachedStatement(sql: "SELECT value FROM flag WHERE \(isHere) AND name = ?"),
            arguments: [name])
    }

    func setText(_ text: String?, named name: String, _ database: Database) throws {
        let sql =
            text == nil
            ? "DELETE FROM flag WHERE database = ? AND name = ?"
            : "INSERT OR REPLACE INTO flag (database, name, value) VALUES (?, ?, ?)"
        var arguments: StatementArguments = [scope.rawValue, name]
        if let text { arguments += [text] }
        try database.cachedStatement(sql: sql).execute(arguments: arguments)
    }
}
