import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// Repeats deletions that the service lost, or had not received when it lost the record, if another device, which does
/// not know of the deletion, sends the record again.
extension CacheStore {
    private func lossName(of zone: CachedZoneRow) -> String { "historyLost/\(zone.key)" }

    /// Notes that the service has now lost history of a zone.
    func noteLoss(in zone: CachedZoneRow, _ database: Database) throws {
        try setText("\(nowMilliseconds)", named: lossName(of: zone), database)
    }

    /// When this device last learned that the service lost history of the zone or of the database; nil if never. The
    /// database counts because a zone's token does not show that later changes were lost.
    func lossMilliseconds(in zone: CachedZoneRow, _ database: Database) throws -> Int64? {
        try [lossName(of: zone), Self.databaseLossName].compactMap {
            try text(named: $0, database).flatMap { Int64($0) }
        }.max()
    }

    func forgetLoss(in zone: CachedZoneRow, _ database: Database) throws {
        try setText(nil, named: lossName(of: zone), database)
        try setText(nil, named: returnedName(of: zone), database)
    }

    /// Deletes a record again that reappeared after a loss, even with later edits, if it was created before its
    /// deletion here; one that was created later is a new record. This applies to the shared database too: deletions by
    /// others have no time here.
    ///
    /// It includes records deleted after the loss was noticed: if the service no longer had the record, no other device
    /// learned of the deletion; and, without any loss, records sent from here and deleted before it was known whether
    /// they had arrived.
    /// - Returns: whether it was deleted.
    func repeatDeletion(
        of server: RecordSnapshot, _ deletions: RepeatableDeletions, _ zone: CachedZoneRow,
        _ database: Database
    ) throws -> Bool {
        let name = server.id.name
        guard try mayRepeat(deletions, of: name, zone, database),
            try record(name, zone, database) == nil
        else { return false }
        var deleted = try unansweredMilliseconds(server, deletions, database)
        if deleted == nil, deletions.isAfterLoss,
            let lost = try repeatableMilliseconds(name, zone, database),
            wasThere(server, at: lost), try !isRecreated(server, database)
        {
            deleted = lost
        }
        if deleted == nil, let made = recreatedMilliseconds(server),
            let known = try deletionOfRecreated(server.id, deletions, database),
            known.recreated == made
        {
            deleted = known.milliseconds
        }
        guard let deleted else { return false }
        try queue(.delete, name, zone, base: server, editedMilliseconds: deleted, database)
        return true
    }

    /// Whether a record of this name may be deleted again.
    func mayRepeat(
        _ deletions: RepeatableDeletions, of name: String, _ zone: CachedZoneRow,
        _ database: Database
    ) throws -> Bool {
        if deletions.unanswered[name] != nil { return true }
        guard deletions.isAfterLoss else { return false }
        if try repeatableMilliseconds(name, zone, database) != nil { return true }
        return try deletionOfRecreated(RecordID(name: name, zoneID: zone.id), deletions, database)
            != nil
    }

    /// The deletion of a record that was created under a former record's name, if this device made it before it learned
    /// of the loss.
    ///
    /// The service may have this deletion. But if the restore brought the former record back, other devices regard it
    /// as that record's deletion, and send the later record again. The time of the record's creation under the reused
    /// name identifies it.
    private func deletionOfRecreated(
        _ id: RecordID, _ deletions: RepeatableDeletions, _ database: Database
    ) throws -> (milliseconds: Int64, recreated: Int64)? {
        guard let lost = deletions.lossMilliseconds else { return nil }
        let statement = try database.cachedStatement(
            sql: """
                SELECT deleted, madeAnew FROM tombstone
                WHERE \(isHere) AND owner = ? AND zone = ? AND name = ? AND deleted <= ?
                    AND madeAnew IS NOT NULL
                """)
        return try Row.fetchOne(
            statement, arguments: [id.zoneID.ownerName, id.zoneID.name, id.name, lost]
        ).map { (try $0.decode(atIndex: 0), try $0.decode(atIndex: 1)) }
    }

    /// Whether a record with a pending deletion that seems to be a new one is the deleted record,
    /// sent again after a loss.
    func isSentAgain(
        _ server: RecordSnapshot, _ deletion: PendingRow, _ zone: CachedZoneRow,
        _ database: Database
    ) throws -> Bool {
        guard deletion.change.kind == .delete, try lossMilliseconds(in: zone, database) != nil
        else { return false }
        return wasThere(server, at: deletion.editedMilliseconds)
    }

    /// Reports to the app the records that reappeared and were deleted again.
    func reportReturned(_ ids: [RecordID], in zone: ZoneID, _ outcome: inout CacheOutcome) {
        var lost = LostHistory(lastIntactVersion: 0)
        lost.deletedAgain = ids
        if let event = lost.event(in: zone) { outcome.events.append(event) }
    }

    /// Whether a record of the service is a new one with the name of one that was deleted here or
    /// elsewhere, by its times: a deletion of the former record must not delete it.
    ///
    /// - Parameter base: the deleted record, if the pending deletion has it.
    func isRecreated(
        _ server: RecordSnapshot, after base: RecordSnapshot? = nil, _ database: Database
    ) throws -> Bool {
        guard let made = recreatedMilliseconds(server) else { return false }
        let known = [
            try recreatedMilliseconds(ofDeleted: server.id, database),
            base.flatMap { recreatedMilliseconds($0) },
        ]
        return made > known.compactMap(\.self).max() ?? .min
    }

    /// Whether a record preceded the one that was deleted last under its name.
    func isFormer(_ record: RecordSnapshot, _ database: Database) throws -> Bool {
        guard let deleted = try recreatedMilliseconds(ofDeleted: record.id, database)
        else { return false }
        return recreatedMilliseconds(record) ?? .min < deleted
    }

    /// When a record was created with the name of a deleted one; nil for the first of its name.
    func recreatedMilliseconds(_ record: RecordSnapshot) -> Int64? {
        fieldTimesKey(ofType: record.type).flatMap { FieldTimes(record[$0]).recreatedMilliseconds }
    }

    /// Whether a record existed at a time, as shown by a value of that age or older.
    func wasThere(_ record: RecordSnapshot, at milliseconds: Int64) -> Bool {
        guard let key = fieldTimesKey(ofType: record.type) else { return false }
        let times = FieldTimes(record[key])
        let known = record.fields.compactMap { field in
            // Fields with other rules store counts and positions of elements, not times.
            resolver.fieldRules[field.name] ?? .editDate == .editDate
                ? times.milliseconds(of: field, field.name) : nil
        }
        guard let oldest = known.min() ?? times.newestMilliseconds else { return false }
        return oldest <= milliseconds
    }

    /// When a record was deleted on this device, itself or with its zone, in a way that the service, as far as is
    /// known, does not report to others; nil if it was not.
    func repeatableMilliseconds(
        _ name: String, _ zone: CachedZoneRow, _ database: Database
    ) throws -> Int64? {
        if let deletion = try lostDeletion(of: RecordID(name: name, zoneID: zone.id), database),
            let milliseconds = deletion.milliseconds
        {
            return milliseconds
        }
        // The loss of another zone's history says nothing about this deletion.
        guard try text(named: lossName(of: zone), database) != nil else { return nil }
        return try deletionMilliseconds(ofZone: zone.id, database)
    }

    /// A deletion that the service did not confirm, or lost; nil if there is none.
    ///
    /// - Returns: also when it was made here; nil if it was made elsewhere.
    func lostDeletion(
        of id: RecordID, _ database: Database
    ) throws -> (milliseconds: Int64?, Void)? {
        let statement = try database.cachedStatement(
            sql: """
                SELECT deleted FROM tombstone
                WHERE \(isHere) AND owner = ? AND zone = ? AND name = ? AND version IS NULL
                """)
        return try Row.fetchOne(
            statement, arguments: [id.zoneID.ownerName, id.zoneID.name, id.name]
        ).map { (try $0.decode(Int64?.self, atIndex: 0), ()) }
    }

    /// Notes that the service has the deletion of a record.
    ///
    /// - Parameter version: the zone's version of it; nil when it had no such record.
    func noteDeletion(
        of id: RecordID, version: Int64?, _ database: Database
    ) throws {
        try database.cachedStatement(
            sql: """
                UPDATE tombstone SET version = ?
                WHERE \(isHere) AND owner = ? AND zone = ? AND name = ?
                """
        ).execute(arguments: [version, id.zoneID.ownerName, id.zoneID.name, id.name])
    }

    /// Notes that the service lost the deletions in a zone after a version.
    func noteLostDeletions(
        in zone: ZoneID, after version: Int64, _ database: Database
    ) throws {
        try database.execute(
            sql: """
                UPDATE tombstone SET version = NULL
                WHERE \(isHere) AND owner = ? AND zone = ? AND version > ?
                """, arguments: [zone.ownerName, zone.name, version])
    }

    // MARK: Zones

    private static let databaseLossName = "databaseLost"

    /// When a zone was deleted on this device; nil if it was deleted elsewhere, and in the shared
    /// database, where leaving a zone deletes nothing in it.
    func deletionMilliseconds(ofZone id: ZoneID, _ database: Database) throws -> Int64? {
        guard createsZones else { return nil }
        let statement = try database.cachedStatement(
            sql: """
                SELECT deleted FROM tombstone
                WHERE \(isHere) AND owner = ? AND zone = ? AND name = ''
                """)
        return try Int64.fetchOne(statement, arguments: [id.ownerName, id.name])
    }

    /// Notes that the service has now lost history of the database.
    func noteLossOfDatabase(_ database: Database) throws {
        try setText("\(nowMilliseconds)", named: Self.databaseLossName, database)
    }

    /// Handles a zone that was deleted here and exists again after a loss that may include the
    /// deletion: a device that did not know of it has created the zone again with the deleted
    /// records, which are deleted again one by one.
    func noteLoss(inReturned row: CachedZoneRow, _ database: Database) throws {
        guard let deleted = try deletionMilliseconds(ofZone: row.id, database),
            let lost = try text(named: Self.databaseLossName, database).flatMap({ Int64($0) }),
            deleted <= lost
        else { return }
        try noteLoss(in: row, database)
        try setText("whole", named: returnedName(of: row), database)
    }

    private func returnedName(of row: CachedZoneRow) -> String { "returned/\(row.key)" }

    /// Deletes a zone again after a fetch of all its changes, when records of it were deleted again and nothing is
    /// left. A zone that reappeared without records may be a new one, and stays.
    ///
    /// It keeps its change token: if others save something in it before the deletion is sent, it stays too. With a sync
    /// engine the empty zone stays, because the engine cannot delete on that condition.
    /// - Parameter hasRepeated: whether records were deleted again in this page.
    /// - Returns: whether it is to be deleted.
    func deleteEmptied(
        _ row: CachedZoneRow, hasRepeated: Bool, moreComing: Bool, _ outcome: inout CacheOutcome,
        _ database: Database
    ) throws -> Bool {
        guard let known = try text(named: returnedName(of: row), database) else { return false }
        if hasRepeated { try setText("emptied", named: returnedName(of: row), database) }
        if moreComing { return false }
        guard try !hasContent(row, database) && unreadableNames(in: row, database).isEmpty else {
            try setText(nil, named: returnedName(of: row), database)
            return false
        }
        guard hasRepeated || known == "emptied" else { return false }
        _ = try removeContent(of: row, deleted: nil, &outcome, database)
        // If it stays after all, its records are still those of the deleted zone.
        try noteLoss(in: row, database)
        try setState(.unwanted, of: row, database)
        return true
    }

    /// The zones among these that are deleted because they reappeared and were emptied, each with its change token.
    func emptied(of zones: [ZoneID]) throws -> [(zone: ZoneID, token: String)] {
        try read { database in
            try zones.compactMap { id in
                guard let row = try zone(id, database), row.state == .unwanted,
                    let token = row.token
                else { return nil }
                return (id, token)
            }
        }
    }

    func generationName(of row: CachedZoneRow) -> String { "generation/\(row.key)" }

    private func deletedGenerationName(of id: ZoneID) -> String {
        "deletedGeneration/\(id.ownerName)/\(id.name)"
    }

    /// The deletions of a page that concern former zones: this device knew of them when it created its current zones.
    /// After a loss they are reported once more.
    func deletionsKnown(in page: DatabasePage, _ database: Database) throws -> Set<ZoneID> {
        var known: Set<ZoneID> = []
        guard try flag(CacheFlag.isDatabaseTokenExpired, database) != nil else { return [] }
        for (id, _) in page.deleted {
            guard let generation = page.generations[id], let row = try zone(id, database),
                row.state == .existing,
                let deleted = try text(named: deletedGenerationName(of: id), database)?
                    .split(separator: " ").first.flatMap({ Int64($0) }), generation <= deleted
            else { continue }
            // A zone restored from a copy has its former generation.
            let current = try text(named: generationName(of: row), database).flatMap { Int64($0) }
            if current ?? .max > generation { known.insert(id) }
        }
        return known
    }

    private func remakingName(of row: CachedZoneRow) -> String { "remade/\(row.key)" }

    func setGeneration(_ generation: Int64?, of row: CachedZoneRow, _ database: Database) throws {
        if let generation, !row.isNew,
            let known = try text(named: generationName(of: row), database),
            generation > Int64(known) ?? .max
        {
            try setText("1", named: remakingName(of: row), database)
        }
        try setText(generation.map { "\($0)" }, named: generationName(of: row), database)
    }

    /// Whether a zone was deleted and created again since it was fetched.
    func isRemade(_ row: CachedZoneRow, _ database: Database) throws -> Bool {
        try text(named: remakingName(of: row), database) != nil
    }

    func forgetRemaking(of row: CachedZoneRow, _ database: Database) throws {
        try setText(nil, named: remakingName(of: row), database)
    }

    /// Remembers which of the zones of a name was deleted: its generation and, if records of it
    /// were here, its last change token, because after a loss another zone may get the same
    /// generation. Without a generation the former values stay.
    func keepGeneration(
        ofDeleted row: CachedZoneRow, hadRecords: Bool, _ database: Database
    ) throws {
        guard let generation = try text(named: generationName(of: row), database) else { return }
        let token = hadRecords && row.token != CachedZoneRow.gone ? row.token ?? "" : ""
        try setText(
            "\(generation) \(token)", named: deletedGenerationName(of: row.id), database)
        try setGeneration(nil, of: row, database)
    }

    /// After a loss, the zones of the service that may have been deleted before it, here or
    /// elsewhere, each with the last change token of the deleted zone: if the service accepts the
    /// token, it is that zone.
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
