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
        guard let deleted = try deletionMilliseconds(of: server.id, database),
            wasThere(server, at: deleted)
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
        let statement = try database.cachedStatement(
            sql: """
                SELECT deleted FROM tombstone
                WHERE \(isHere) AND owner = ? AND zone = ? AND name = ?
                """)
        return try Int64.fetchOne(
            statement, arguments: [id.zoneID.ownerName, id.zoneID.name, id.name])
    }

    // MARK: Zones

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

    /// Remembers which of the zones of its name was deleted, the first or a later one.
    func keepGeneration(ofDeleted row: ZoneRow, _ database: Database) throws {
        let generation = try text(named: generationName(of: row), database)
        try setText(generation, named: deletedGenerationName(of: row.id), database)
        try setGeneration(nil, of: row, database)
    }

    /// After a loss, whether a zone of the service is one that was deleted before it, here or elsewhere: it is
    /// deleted again. One that was made after the deletion stays.
    func isDeletedAgain(
        _ id: ZoneID, _ generation: Int64?, _ database: Database
    ) throws -> Bool {
        guard createsZones, let generation, try zone(id, database) == nil,
            let deleted = try text(named: deletedGenerationName(of: id), database),
            generation <= Int64(deleted) ?? 0
        else { return false }
        try setUnwanted(try zone(id, orMake: .unwanted, database), database)
        return true
    }
}
