import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// The history that the service lost, such as after a restore from a backup, as found by a full fetch.
struct LostHistory {
    /// The last version of the zone that the service and this device share.
    var lastIntactVersion: Int64
    var sentAgain: [RecordID] = []
    var deletedAgain: [RecordID] = []

    /// Whether the service lost this state of a record. A state without a readable version does not
    /// count as lost.
    func contains(_ system: RecordSnapshot.SystemFields) -> Bool {
        system.version.map { $0 > lastIntactVersion } ?? false
    }

    /// The event for the app; nil if nothing was lost.
    func event(in zone: ZoneID) -> CacheEvent? {
        guard !sentAgain.isEmpty || !deletedAgain.isEmpty else { return nil }
        return .changesLost(
            CKRecordZone.ID(zone), sentAgain: sentAgain.map { CKRecord.ID($0) },
            deletedAgain: deletedAgain.map { CKRecord.ID($0) })
    }
}

/// Recovery after a restore of the service: records that this device received above the last intact
/// version were lost there and are sent again; records that are missing at or below it were
/// deleted.
extension CacheStore {
    /// Forgets a zone's token, which has expired.
    func dropToken(of id: ZoneID, after failure: SyncFailure) throws {
        try dropToken(
            of: id, lastIntactVersion: failure.lastIntactVersion,
            deletionsAfterVersion: failure.deletionsAfterVersion)
    }

    /// Forgets a zone's token; the next fetch is a full one.
    ///
    /// - Parameters:
    ///   - lastIntactVersion: the last intact version as named by the error; nil if it named none.
    ///   - deletionsAfterVersion: the version after which the full fetch names all deletions, if the error named that.
    func dropToken(
        of id: ZoneID, lastIntactVersion: Int64?, deletionsAfterVersion: Int64? = nil
    ) throws {
        try file.write { database in
            guard let row = try zone(id, database) else { return }
            // Rows that an unfinished full fetch has received may belong to the former history.
            let known = try self.lastIntactVersion(of: row, database)
            // The token of an unfinished full fetch names the newest version, but later changes are not here.
            let began = try refetchedAfter(row, database)
            let intact = [known, lastIntactVersion == nil ? nil : began, lastIntactVersion]
                .compactMap(\.self).min()
            try setLastIntactVersion(intact, of: row, database)
            try forgetRefetch(of: row, database)
            if let deletionsAfterVersion {
                try noteRefetch(
                    of: row, after: min(began ?? .max, deletionsAfterVersion), database)
            }
            if let lastIntactVersion, let intact {
                try noteLoss(in: row, database)
                try noteLostDeletions(in: id, after: lastIntactVersion, database)
                try forgetSentAgainElsewhere(in: row, after: intact, database)
                try keepTags(through: intact, of: row, database)
            }
            try database.execute(
                sql: "UPDATE zone SET token = NULL, needsFetch = 1 WHERE id = ?",
                arguments: [row.key])
        }
    }

    /// Removes the notes of records that a newer app sent again after the last intact version: the service has lost
    /// them once more.
    private func forgetSentAgainElsewhere(
        in zone: CachedZoneRow, after intact: Int64, _ database: Database
    ) throws {
        let lost = LostHistory(lastIntactVersion: intact)
        let names = try String.fetchAll(
            database,
            sql: "SELECT name FROM pending WHERE zone = ? AND isSentAgain AND baseType IS NULL",
            arguments: [zone.key])
        for name in names {
            guard let system = try record(name, zone, database)?.system, lost.contains(system),
                var row = try pending(name, zone, database)
            else { continue }
            row.isSentAgain = false
            try update(row, database)
        }
    }

    /// The history that the service lost; nil if no full fetch after an expiry runs, or its error named no version.
    func lostHistory(of zone: CachedZoneRow, _ database: Database) throws -> LostHistory? {
        guard zone.isRefetching else { return nil }
        return try lastIntactVersion(of: zone, database).map { LostHistory(lastIntactVersion: $0) }
    }

    /// The version after which a full fetch of the zone names the deletions: the last one that this device and the
    /// service share, after an expiry whose error named it; nil if there is none.
    func lastIntactVersion(of id: ZoneID) throws -> Int64? {
        try read { database in
            try zone(id, database).flatMap {
                try lastIntactVersion(of: $0, database) ?? refetchedAfter($0, database)
            }
        }
    }

    func lastIntactVersion(of zone: CachedZoneRow, _ database: Database) throws -> Int64? {
        try text(named: flagName(of: zone), database).flatMap { Int64($0) }
    }

    func setLastIntactVersion(
        _ version: Int64?, of zone: CachedZoneRow, _ database: Database
    ) throws {
        try setText(version.map { "\($0)" }, named: flagName(of: zone), database)
    }

    private func flagName(of zone: CachedZoneRow) -> String { "lastIntactVersion/\(zone.key)" }

    /// Handles a record of the service of which this device may have a later state, or its
    /// deletion.
    ///
    /// - Returns: whether it was handled; otherwise the service's record is the newest.
    func resolveLostRecord(
        _ server: RecordSnapshot, _ zone: CachedZoneRow, _ lost: inout LostHistory?,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws -> Bool {
        guard let history = lost else { return false }
        let isCommon = server.system.map { !history.contains($0) } ?? false
        guard let here = try record(server.id.name, zone, database) else {
            // The record was here, and the service had it before the backup. It was deleted later, and the service lost
            // that deletion.
            guard isCommon, let deletion = try lostDeletion(of: server.id, database),
                createsZones || deletion.milliseconds != nil, try !isRecreated(server, database)
            else { return false }
            try queue(
                .delete, server.id.name, zone, base: server,
                editedMilliseconds: nowMilliseconds, database)
            lost?.deletedAgain.append(server.id)
            return true
        }
        guard let system = here.system, system.changeTag != server.system?.changeTag,
            history.contains(system), isSentAgain(system)
        else { return false }
        if isLostShare(here, history) {
            try reportLost([here], &outcome)
            return false
        }
        // The service's record of the common history is the base of the lost edit.
        try queue(
            .save, server.id.name, zone, base: isCommon ? server : nil,
            editedMilliseconds: system.modifiedMilliseconds ?? nowMilliseconds, database)
        guard let row = try pending(server.id.name, zone, database) else { return false }
        try resolveConflict(server, row, zone, countsRound: false, &outcome, database)
        if try pending(server.id.name, zone, database) != nil { lost?.sentAgain.append(server.id) }
        return true
    }

    /// Changes the base of a pending edit from a lost state to the service's record, so that it
    /// includes the lost changes.
    func rebaseLost(
        _ row: inout PendingRow, on server: RecordSnapshot, _ lost: inout LostHistory?,
        _ database: Database
    ) throws {
        guard let history = lost, row.change.kind == .save, !row.isRecreated,
            let system = row.base?.system, system.changeTag != server.system?.changeTag,
            history.contains(system)
        else { return }
        let isCommon = server.system.map { !history.contains($0) } ?? false
        row.base = isCommon ? server : nil
        try update(row, database)
        // Otherwise it is a conflict, which has its own report.
        if isCommon { lost?.sentAgain.append(server.id) }
    }

    /// Handles a record that a full fetch did not contain: if its state here was lost, it is sent
    /// as a new one.
    ///
    /// - Returns: whether it was lost.
    func sendLost(
        _ name: String, _ zone: CachedZoneRow, _ lost: inout LostHistory?, _ database: Database
    ) throws -> Bool {
        // A save cannot create a share.
        guard let history = lost, let here = try record(name, zone, database),
            let system = here.system, system.sharing == nil, history.contains(system)
        else { return false }
        let row = try pending(name, zone, database)
        // In the shared database a device of the zone's owner sends the record again, unless the last edit was this
        // user's.
        guard row?.change.kind == .save || isSentAgain(system) else { return false }
        // A newer app had sent the record again, and now it is missing: it was deleted since.
        if let row, row.isSentAgain, row.base == nil { return false }
        if var row {
            row.isSentAgain = true
            row.change.generation += 1
            try sendAsNew(&row, zone, database)
        } else {
            try queue(
                .save, name, zone, base: nil,
                editedMilliseconds: system.modifiedMilliseconds ?? nowMilliseconds,
                isSentAgain: true, database)
            try putSystem(nil, of: name, zone, database)
        }
        lost?.sentAgain.append(here.id)
        return true
    }

    /// Handles a deletion of a record whose state here was lost. If the record here was created after another one of
    /// its name was deleted, the reported deletion is that of the former record: the service lost it too, and another
    /// device repeated it. This is not so if the service says that the deleted record was created at the same time as
    /// the one here.
    ///
    /// - Parameter created: when the deleted record was created, in milliseconds since 1970; nil if unknown.
    /// - Returns: whether the record is sent as a new one, or waits to be sent.
    func sendLostAgain(
        _ name: String, created: Int64?, _ zone: CachedZoneRow, _ lost: inout LostHistory?,
        _ database: Database
    ) throws -> Bool {
        guard lost != nil, let here = try record(name, zone, database),
            let made = recreatedMilliseconds(here),
            created == nil || here.system?.createdMilliseconds != created
        else { return false }
        // A record whose save was not answered is already pending; the deleted one was created before it.
        if here.system == nil, let created, created < made { return true }
        return try sendLost(name, zone, &lost, database)
    }

    /// From which refusal on a change counts as refused although the zone's changes were not fetched yet. Earlier ones
    /// do not count: if a process ends before that fetch, the change is sent, and refused, again.
    private static let refusalsAwaited = 4

    /// Whether a change was refused because the service's record is missing, is another record, is older than here, or
    /// is of another epoch, such as one saved after a restore. The zone's changes, not fetched yet, will show whether
    /// something was deleted or lost.
    func mayBeLost(
        _ row: PendingRow, _ server: RecordSnapshot?, _ zone: CachedZoneRow, _ database: Database
    ) throws -> Bool {
        // A refused change may be sent again before the zone's changes are fetched, which may never happen.
        let rounds = row.change.conflictRounds
        guard try rounds == 0 || rounds < Self.refusalsAwaited && needsFetch(zone, database),
            !row.isRecreated, let base = row.base, let system = base.system,
            let version = system.version
        else { return false }
        guard let server else { return row.change.kind == .save }
        if base.isOfAnotherRecord(than: server) { return true }
        guard let there = server.system, let versionThere = there.version else { return false }
        return versionThere < version || there.epoch != system.epoch
    }

    /// In the shared database each device sends only its own user's edits again, because others may
    /// not be allowed to.
    private func isSentAgain(_ system: RecordSnapshot.SystemFields) -> Bool {
        createsZones || system.modifierRecordName == ZoneID.currentUserName
    }
}

extension RecordSnapshot.SystemFields {
    /// The zone's version at which the service stored this state: the part of the tag before the
    /// dot, in base 36 (decision 17). Nil for a tag of another form.
    fileprivate var version: Int64? { Self.version(ofTag: changeTag) }

    /// The epoch that wrote the version: the part of the tag after the dot.
    fileprivate var epoch: Substring? {
        changeTag.firstIndex(of: ".").map { changeTag[changeTag.index(after: $0)...] }
    }

    static func version(ofTag tag: String) -> Int64? {
        tag.firstIndex(of: ".").flatMap { Int64(tag[..<$0], radix: 36) }
    }
}
