import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// A deletion that the service lost, or never got before it lost the record: another device, which knows nothing of it,
/// sends the record again.
extension CacheStore {
    private func lossName(of zone: ZoneRow) -> String { "historyLost/\(zone.key)" }

    /// Notes that the service lost history of a zone, now.
    func noteLoss(in zone: ZoneRow, _ database: Database) throws {
        try setText("\(nowMilliseconds)", named: lossName(of: zone), database)
    }

    /// When this device heard last that the service had lost history of the zone; nil if never.
    func lossMilliseconds(in zone: ZoneRow, _ database: Database) throws -> Int64? {
        try text(named: lossName(of: zone), database).flatMap { Int64($0) }
    }

    func forgetLoss(in zone: ZoneRow, _ database: Database) throws {
        try setText(nil, named: lossName(of: zone), database)
    }

    /// Deletes a record again that came back after a loss, with later edits too, and was made before its deletion here. One
    /// that was made later is another. In the shared database too: what others deleted, or hid, has no time here.
    ///
    /// Also what was deleted after the loss was heard of: where the service had it no more, nobody heard of that.
    /// - Returns: whether it was deleted.
    func repeatDeletion(
        of server: RecordSnapshot, _ zone: ZoneRow, _ database: Database
    ) throws -> Bool {
        guard
            let deleted = try deletionMilliseconds(of: server.id, database)
                ?? deletionMilliseconds(ofZone: server.id.zoneID, database),
            wasThere(server, at: deleted), try !isMadeAnew(server, database)
        else { return false }
        try queue(
            .delete, server.id.name, zone, base: server, editedMilliseconds: deleted, database)
        return true
    }

    /// Whether a record that has a pending deletion, and seems to be another than was deleted, is the deleted one,
    /// which somebody sent again after a loss.
    func isSentAgain(
        _ server: RecordSnapshot, _ deletion: PendingRow, _ zone: ZoneRow, _ database: Database
    ) throws -> Bool {
        guard deletion.change.kind == .delete, try lossMilliseconds(in: zone, database) != nil
        else { return false }
        return wasThere(server, at: deletion.editedMilliseconds)
    }

    /// Tells the app of records that came back and were deleted again.
    func tell(ofReturned ids: [RecordID], in zone: ZoneID, _ outcome: inout CacheOutcome) {
        var lost = LostHistory(lastIntactVersion: 0)
        lost.deletedAgain = ids
        if let event = lost.event(in: zone) { outcome.events.append(event) }
    }

    /// Whether a record of the service was made under the name of the one that was deleted here, or elsewhere, as far as
    /// its times tell: no deletion of that one takes it, whichever came first.
    ///
    /// - Parameter base: the deleted one, as far as the deletion that is pending has it.
    func isMadeAnew(
        _ server: RecordSnapshot, after base: RecordSnapshot? = nil, _ database: Database
    ) throws -> Bool {
        guard let made = madeAnewMilliseconds(server) else { return false }
        let deleted = try Int64?.fetchOne(
            database.cachedStatement(
                sql: """
                    SELECT madeAnew FROM tombstone
                    WHERE \(isHere) AND owner = ? AND zone = ? AND name = ?
                    """),
            arguments: [server.id.zoneID.ownerName, server.id.zoneID.name, server.id.name])
        let known = [deleted ?? nil, base.flatMap { madeAnewMilliseconds($0) }]
        return made > known.compactMap(\.self).max() ?? .min
    }

    /// When a record was made under the name of one that was deleted; nil for the first of its name.
    func madeAnewMilliseconds(_ record: RecordSnapshot) -> Int64? {
        fieldTimesKey(ofType: record.type).flatMap { FieldTimes(record[$0]).madeAnewMilliseconds }
    }

    /// Whether a record was there at a time, as far as it tells: a value of it is as old.
    func wasThere(_ record: RecordSnapshot, at milliseconds: Int64) -> Bool {
        guard let key = fieldTimesKey(ofType: record.type) else { return false }
        let times = FieldTimes(record[key])
        let known = record.fields.compactMap { field in
            // Others have counts and places of elements.
            resolver.fieldRules[field.name] ?? .editDate == .editDate
                ? times.milliseconds(of: field, field.name) : nil
        }
        guard let oldest = known.min() ?? times.newestMilliseconds else { return false }
        return oldest <= milliseconds
    }

    /// When a record was deleted on this device; nil for what others deleted.
    func deletionMilliseconds(of id: RecordID, _ database: Database) throws -> Int64? {
        try deletionMilliseconds(id.zoneID, id.name, database)
    }

    private func deletionMilliseconds(
        _ zone: ZoneID, _ name: String, _ database: Database
    ) throws -> Int64? {
        let statement = try database.cachedStatement(
            sql: """
                SELECT deleted FROM tombstone
                WHERE \(isHere) AND owner = ? AND zone = ? AND name = ?
                """)
        return try Int64.fetchOne(statement, arguments: [zone.ownerName, zone.name, name])
    }

    // MARK: Zones

    private static let databaseLossName = "databaseLost"

    /// When a zone was deleted on this device; nil for what others deleted, and in the shared database: who leaves a
    /// zone deletes nothing in it.
    func deletionMilliseconds(ofZone id: ZoneID, _ database: Database) throws -> Int64? {
        createsZones ? try deletionMilliseconds(id, "", database) : nil
    }

    /// Notes that the service lost history of the database, now.
    func noteLossOfDatabase(_ database: Database) throws {
        try setText("\(nowMilliseconds)", named: Self.databaseLossName, database)
    }

    /// A zone that was deleted here is there again, after a loss that may have taken the deletion: a device that never heard of
    /// it has made the zone anew with the records that were deleted, which go again, each by itself.
    func noteLoss(inReturned row: ZoneRow, _ database: Database) throws {
        guard let deleted = try deletionMilliseconds(ofZone: row.id, database),
            let lost = try text(named: Self.databaseLossName, database).flatMap({ Int64($0) }),
            deleted <= lost
        else { return }
        try noteLoss(in: row, database)
    }

    private func generationName(of row: ZoneRow) -> String { "generation/\(row.key)" }

    private func deletedGenerationName(of id: ZoneID) -> String {
        "deletedGeneration/\(id.ownerName)/\(id.name)"
    }

    private func remakingName(of row: ZoneRow) -> String { "remade/\(row.key)" }

    func setGeneration(_ generation: Int64?, of row: ZoneRow, _ database: Database) throws {
        if let generation, row.token != nil,
            let known = try text(named: generationName(of: row), database),
            generation > Int64(known) ?? .max
        {
            try setText("1", named: remakingName(of: row), database)
        }
        try setText(generation.map { "\($0)" }, named: generationName(of: row), database)
    }

    /// Whether a zone was deleted and made again since it was fetched.
    func isRemade(_ row: ZoneRow, _ database: Database) throws -> Bool {
        try text(named: remakingName(of: row), database) != nil
    }

    func forgetRemaking(of row: ZoneRow, _ database: Database) throws {
        try setText(nil, named: remakingName(of: row), database)
    }

    /// Remembers which of the zones of its name was deleted: its number, and where records of it were here the last change
    /// token, as after a loss another one may be given the same number. Where there is no number, what was remembered before
    /// stays.
    func keepGeneration(
        ofDeleted row: ZoneRow, hadRecords: Bool, _ database: Database
    ) throws {
        guard let generation = try text(named: generationName(of: row), database) else { return }
        let token = hadRecords && row.token != ZoneRow.gone ? row.token ?? "" : ""
        try setText(
            "\(generation) \(token)", named: deletedGenerationName(of: row.id), database)
        try setGeneration(nil, of: row, database)
    }

    /// After a loss, the zones of the service that may be ones that were deleted before it, here or elsewhere, each with the
    /// last change token of the deleted one: whether the service knows its history tells.
    func zonesPerhapsDeleted(in page: DatabasePage) throws -> [ZoneID: String] {
        try read { database in
            guard createsZones, try flag(CacheFlag.isDatabaseTokenExpired, database) != nil
            else { return [:] }
            var tokens: [ZoneID: String] = [:]
            for id in page.changed {
                guard let generation = page.generations[id], try zone(id, database) == nil,
                    let deleted = try text(named: deletedGenerationName(of: id), database)
                else { continue }
                let parts = deleted.split(separator: " ", maxSplits: 1)
                guard parts.count == 2, generation <= Int64(parts[0]) ?? 0 else { continue }
                tokens[id] = String(parts[1])
            }
            return tokens
        }
    }
}
