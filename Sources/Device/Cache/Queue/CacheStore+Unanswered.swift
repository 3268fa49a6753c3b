import Foundation
import GRDB
import StratusRecords
import StratusSync

/// Changes that were sent without an answer: what the zone's changes show about them, and the return of a new record
/// that was deleted before it was known whether it had arrived.
///
/// If the record had arrived, other devices may have fetched it, and send it again after the service has lost it. This
/// device does not notice such a loss, because it had fetched nothing that was lost. It recognizes a record that it
/// sent by the times of the record's fields.
extension CacheStore {
    /// The condition for a pending change that may have arrived and must not arrive twice: it would
    /// create a record that was deleted since, or delete one that was created again since. An edit
    /// has a change tag, and so is applied once. The next fetch of the zone's changes shows whether
    /// the change arrived.
    static let isUnanswered =
        "isUncertain <> 0 AND (kind = 1 OR baseSystem IS NULL OR isMadeAnew)"

    /// Notes that all changes of a zone were fetched: a change that was sent without an answer and is still pending did
    /// not arrive, or the service has lost it.
    func requeueUnanswered(in zone: CachedZoneRow, _ database: Database) throws {
        // The record was not found; a deletion without a tag would delete one that others created under the name since.
        try database.cachedStatement(
            sql: "DELETE FROM pending WHERE zone = ? AND kind = 1 AND baseSystem IS NULL"
        ).execute(arguments: [zone.key])
        let names = try String.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT name FROM pending WHERE zone = ? AND kind = 0 AND \(Self.isUnanswered)
                    ORDER BY sequence
                    """), arguments: [zone.key])
        for name in names {
            guard var row = try pending(name, zone, database),
                let record = try record(name, zone, database)
            else { continue }
            // Inserted at the front, so that they are dropped before the marks of values.
            row.earlier = marksOfTimes(record) + row.earlier
            try update(row, database)
        }
        try database.cachedStatement(
            sql: "UPDATE pending SET isUncertain = 0 WHERE zone = ? AND isUncertain <> 0"
        ).execute(arguments: [zone.key])
    }

    /// Whether a deleted record is one that was sent from here without an answer, although a later fetch of the zone's
    /// changes did not find it: it arrived after that fetch, or a second restore brought it back.
    ///
    /// - Parameter created: when the deleted record was created, in milliseconds since 1970: a record that was created
    ///   before this one is another one. Known if earlier deletions may be reported once more.
    func hasArrived(_ client: RecordSnapshot, _ row: PendingRow, created: Int64?) -> Bool {
        guard !row.earlier.isEmpty, created.map({ wasThere(client, at: $0) }) ?? true
        else { return false }
        return marksOfTimes(client).contains { row.earlier.contains($0) }
    }

    // MARK: Records deleted before their arrival was known

    /// Notes what was sent of a record that is being deleted here, if it is unknown whether it arrived.
    ///
    /// - Parameter pending: its change before the deletion.
    func noteSent(_ old: RecordSnapshot, _ pending: PendingRow?, _ database: Database) throws {
        guard let pending, pending.change.kind == .save,
            pending.base?.system == nil || pending.isRecreated
        else { return }
        let marks = pending.earlier + (pending.isUnanswered ? marksOfTimes(old) : [])
        if !marks.isEmpty { try addSent(marks, of: old.id, database) }
    }

    /// Notes that a deletion found no record at the service. Another device has deleted it, which the zone's changes
    /// will report, or the service has lost it. If a second restore brings it back before this device fetches, the
    /// service has everything that this device knows; that it is the deleted record is shown by the time at which the
    /// service created it.
    ///
    /// - Parameter base: the deleted record as the service had it.
    func noteGone(_ base: RecordSnapshot?, _ database: Database) throws {
        // A user may join a share again after leaving it, and a record may return to a share.
        guard createsZones, let base, let system = base.system, system.sharing == nil,
            RecordSnapshot.SystemFields.version(ofTag: system.changeTag) != nil,
            let mark = markOfCreation(base)
        else { return }
        try addSent([mark], of: base.id, database)
    }

    private func markOfCreation(_ record: RecordSnapshot) -> UInt64? {
        record.system?.createdMilliseconds.map {
            Field(name: "\u{1}created", value: .int64($0)).digest
        }
    }

    /// Adds marks to those of a record that was deleted here.
    private func addSent(_ marks: [UInt64], of id: RecordID, _ database: Database) throws {
        let place: StatementArguments = [id.zoneID.ownerName, id.zoneID.name, id.name]
        let ofTombstone = "\(isHere) AND owner = ? AND zone = ? AND name = ?"
        let known = try Data.fetchOne(
            database.cachedStatement(sql: "SELECT sent FROM tombstone WHERE \(ofTombstone)"),
            arguments: place)
        try database.cachedStatement(sql: "UPDATE tombstone SET sent = ? WHERE \(ofTombstone)")
            .execute(
                arguments: [SentMarks.data(SentMarks.list(known ?? Data()) + marks)] + place)
    }

    /// Records that were deleted here, and may be sent again by devices that do not know of the deletion.
    struct RepeatableDeletions {
        /// When this device last learned that the service lost history, and with it perhaps deletions; nil if never.
        var lossMilliseconds: Int64?
        /// Records that were deleted before it was known whether they had arrived, or whose deletion found no record at
        /// the service: the time of the deletion, and the marks of what was sent or deleted.
        var unanswered: [String: (milliseconds: Int64, sent: Set<UInt64>)]

        var isAfterLoss: Bool { lossMilliseconds != nil }
    }

    func repeatableDeletions(
        in zone: CachedZoneRow, _ database: Database
    ) throws -> RepeatableDeletions {
        var deletions = RepeatableDeletions(
            lossMilliseconds: try lossMilliseconds(in: zone, database), unanswered: [:])
        let rows = try Row.fetchCursor(
            database.cachedStatement(
                sql: """
                    SELECT name, deleted, sent FROM tombstone
                    WHERE \(isHere) AND owner = ? AND zone = ? AND sent IS NOT NULL
                        AND (version IS NULL OR version = 0)
                    """), arguments: [zone.id.ownerName, zone.id.name])
        while let row = try rows.next() {
            // Without a time, another device has deleted the record since or the service has the deletion, so it is not
            // sent again.
            guard let milliseconds = try row.decode(Int64?.self, atIndex: 1) else { continue }
            deletions.unanswered[try row.decode(atIndex: 0)] =
                (milliseconds, Set(SentMarks.list(try row.decode(atIndex: 2))))
        }
        return deletions
    }

    /// When this record of the service was deleted here, if it was sent from here without an answer, or if the service
    /// no longer had it then; nil otherwise.
    func unansweredMilliseconds(
        _ server: RecordSnapshot, _ deletions: RepeatableDeletions, _ database: Database
    ) throws -> Int64? {
        guard let known = deletions.unanswered[server.id.name] else { return nil }
        var marks = marksOfTimes(server)
        // A record that another device created since may have replaced the returned one in place.
        if let creation = markOfCreation(server), try !isRecreated(server, database) {
            marks.append(creation)
        }
        return marks.contains { known.sent.contains($0) } ? known.milliseconds : nil
    }
}
