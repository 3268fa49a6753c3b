import GRDB
import StratusClient
import StratusRecords
import StratusSync

/// What a full fetch finds of a history that the service lost, as after a restore from a copy.
struct LostHistory {
    /// The last version of the zone that the service and this device have in common.
    var lastIntactVersion: Int64
    var sentAgain: [RecordID] = []
    var deletedAgain: [RecordID] = []

    /// Whether a state of a record is one that the service lost. One whose version nobody can tell is not.
    func contains(_ system: RecordSnapshot.SystemFields) -> Bool {
        system.version.map { $0 > lastIntactVersion } ?? false
    }

    /// What the app must hear of; nil where nothing was lost.
    func event(in zone: ZoneID) -> CacheEvent? {
        guard !sentAgain.isEmpty || !deletedAgain.isEmpty else { return nil }
        return .changesLost(
            CKRecordZone.ID(zone), sentAgain: sentAgain.map { CKRecord.ID($0) },
            deletedAgain: deletedAgain.map { CKRecord.ID($0) })
    }
}

/// After a restore of the service: what this device received above the last intact version was lost
/// there, and is sent again; what is missing at or below it was deleted.
extension CacheStore {
    /// Forgets a zone's token; the next fetch is a full one.
    ///
    /// - Parameter lastIntactVersion: what the expiry said is intact; nil where it did not say.
    func dropToken(of id: ZoneID, lastIntactVersion: Int64?) throws {
        try file.write { database in
            guard let row = try zone(id, database) else { return }
            // Rows of a full fetch that did not end may be of the history before.
            let known = try self.lastIntactVersion(of: row, database)
            try setLastIntactVersion(
                [known, lastIntactVersion].compactMap(\.self).min(), of: row, database)
            if lastIntactVersion != nil { try noteLoss(in: row, database) }
            try database.execute(
                sql: "UPDATE zone SET token = NULL, needsFetch = 1 WHERE id = ?",
                arguments: [row.key])
        }
    }

    /// Nil where no full fetch after an expiry is under way, or where the expiry did not say.
    func lostHistory(of zone: ZoneRow, _ database: Database) throws -> LostHistory? {
        guard zone.isRefetching else { return nil }
        return try lastIntactVersion(of: zone, database).map { LostHistory(lastIntactVersion: $0) }
    }

    /// Up to which version this device has the zone's history in common with the service, while a full fetch after an
    /// expiry is under way; nil else, and where the expiry did not say.
    func lastIntactVersion(of id: ZoneID) throws -> Int64? {
        try read { database in
            try zone(id, database).flatMap { try lastIntactVersion(of: $0, database) }
        }
    }

    func lastIntactVersion(of zone: ZoneRow, _ database: Database) throws -> Int64? {
        try text(named: flagName(of: zone), database).flatMap { Int64($0) }
    }

    func setLastIntactVersion(
        _ version: Int64?, of zone: ZoneRow, _ database: Database
    ) throws {
        try setText(version.map { "\($0)" }, named: flagName(of: zone), database)
    }

    private func flagName(of zone: ZoneRow) -> String { "lastIntactVersion/\(zone.key)" }

    /// The service has a record, and this device may know a later state of it, or its deletion.
    ///
    /// - Returns: whether it was dealt with; else the service's record is the newest.
    func meetLost(
        _ server: RecordSnapshot, _ zone: ZoneRow, _ lost: inout LostHistory?,
        _ outcome: inout CacheOutcome, _ database: Database
    ) throws -> Bool {
        guard let history = lost else { return false }
        let isCommon = server.system.map { !history.contains($0) } ?? false
        guard let here = try record(server.id.name, zone, database) else {
            // It was here, and the service had it before the copy: its deletion came later.
            guard isCommon,
                try createsZones
                    ? hasTombstone(of: server.id, database)
                    : deletionMilliseconds(of: server.id, database) != nil,
                try !isMadeAnew(server, database)
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
        // What the service has of the common history is what the lost edit went out from.
        try queue(
            .save, server.id.name, zone, base: isCommon ? server : nil,
            editedMilliseconds: system.modifiedMilliseconds ?? nowMilliseconds, database)
        guard let row = try pending(server.id.name, zone, database) else { return false }
        try meet(server, row, zone, countsRound: false, &outcome, database)
        if try pending(server.id.name, zone, database) != nil { lost?.sentAgain.append(server.id) }
        return true
    }

    /// A pending edit that went out from a lost state goes out from the service's, with all that was lost.
    func rebaseLost(
        _ row: inout PendingRow, on server: RecordSnapshot, _ lost: inout LostHistory?,
        _ database: Database
    ) throws {
        guard let history = lost, row.change.kind == .save, !row.isMadeAnew,
            let system = row.base?.system, system.changeTag != server.system?.changeTag,
            history.contains(system)
        else { return }
        let isCommon = server.system.map { !history.contains($0) } ?? false
        row.base = isCommon ? server : nil
        try update(row, database)
        // Else it is a conflict, which has a report of its own.
        if isCommon { lost?.sentAgain.append(server.id) }
    }

    /// A full fetch did not bring a record: where its state here is a lost one, it is sent as a new one.
    ///
    /// - Returns: whether it was lost.
    func sendLost(
        _ name: String, _ zone: ZoneRow, _ lost: inout LostHistory?, _ database: Database
    ) throws -> Bool {
        // No save makes a share.
        guard let history = lost, let here = try record(name, zone, database),
            let system = here.system, system.sharing == nil, history.contains(system)
        else { return false }
        let row = try pending(name, zone, database)
        // In the shared database it may be out of sight, and is there again with its owner's device; but not with what
        // this user wrote.
        guard row?.change.kind == .save || isSentAgain(system) else { return false }
        if var row {
            try sendAsNew(&row, zone, database)
        } else {
            try queue(
                .save, name, zone, base: nil,
                editedMilliseconds: system.modifiedMilliseconds ?? nowMilliseconds, database)
            try putSystem(nil, of: name, zone, database)
        }
        lost?.sentAgain.append(here.id)
        return true
    }

    /// The service names a deletion, and what is here was lost: where it was made under the name of a deleted record, it
    /// is that one's deletion, which was lost too and repeated.
    ///
    /// - Returns: whether the record is sent as a new one.
    func sendLostAnew(
        _ name: String, _ zone: ZoneRow, _ lost: inout LostHistory?, _ database: Database
    ) throws -> Bool {
        guard lost != nil, let here = try record(name, zone, database),
            madeAnewMilliseconds(here) != nil
        else { return false }
        return try sendLost(name, zone, &lost, database)
    }

    /// Whether a change is refused because the record is gone, another, or older than this device had it, and
    /// the zone's changes were not asked: they tell whether it was deleted or lost.
    func mayBeLost(_ row: PendingRow, _ server: RecordSnapshot?) -> Bool {
        guard row.change.conflictRounds == 0, !row.isMadeAnew, let base = row.base,
            let version = base.system?.version
        else { return false }
        guard let server else { return row.change.kind == .save }
        return base.isOfAnotherRecord(than: server)
            || server.system?.version.map { $0 < version } ?? false
    }

    /// In the shared database each device brings back what its own user wrote; others may not be allowed to.
    private func isSentAgain(_ system: RecordSnapshot.SystemFields) -> Bool {
        createsZones || system.modifierRecordName == ZoneID.currentUserName
    }
}

extension RecordSnapshot.SystemFields {
    /// The zone's version at which the service stored this state: before the tag's dot, in base 36 (decision
    /// 17). Nil in a tag of another form.
    fileprivate var version: Int64? { Self.version(ofTag: changeTag) }

    static func version(ofTag tag: String) -> Int64? {
        tag.firstIndex(of: ".").flatMap { Int64(tag[..<$0], radix: 36) }
    }
}
