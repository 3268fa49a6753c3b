import Foundation
import GRDB
import StratusRecords
import StratusSync

/// Changes that were sent without an answer: what the zone's changes say of them, and what comes back of a new record that was
/// deleted before it was known whether it had arrived.
///
/// If it had, other devices may have fetched it, and send it again when the service loses it. This device had nothing that was
/// lost, so it hears of no loss. What it sent is found by the times of its fields.
extension CacheStore {
    /// The condition for a pending change that may have arrived and must not arrive twice: it would
    /// create a record that was deleted since, or delete one that was created again since. An edit
    /// has a change tag, and so is applied once. The next fetch of the zone's changes shows whether
    /// the change arrived.
    static let isUnanswered =
        "isUncertain <> 0 AND (kind = 1 OR baseSystem IS NULL OR isMadeAnew)"

    /// Notes that all changes of a zone were fetched: a change that was sent without an answer and
    /// is still pending did not arrive, or is lost again.
    func heardOfUnanswered(in zone: ZoneRow, _ database: Database) throws {
        // Not found: a deletion without a tag would delete what others made under the name since.
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
            // In front, where they give way to marks of values.
            row.earlier = marksOfTimes(record) + row.earlier
            try update(row, database)
        }
        try database.cachedStatement(
            sql: "UPDATE pending SET isUncertain = 0 WHERE zone = ? AND isUncertain <> 0"
        ).execute(arguments: [zone.key])
    }

    // MARK: Deleted before it was known

    /// Notes what a record that is being deleted here was sent with, if nobody knows whether it arrived.
    ///
    /// - Parameter pending: its change before the deletion.
    func noteSent(_ old: RecordSnapshot, _ pending: PendingRow?, _ database: Database) throws {
        guard let pending, pending.change.kind == .save,
            pending.base?.system == nil || pending.isMadeAnew
        else { return }
        let marks = pending.earlier + (pending.isUnanswered ? marksOfTimes(old) : [])
        guard !marks.isEmpty else { return }
        let place: StatementArguments = [
            old.id.zoneID.ownerName, old.id.zoneID.name, old.id.name,
        ]
        let ofTombstone = "\(isHere) AND owner = ? AND zone = ? AND name = ?"
        let known = try Data.fetchOne(
            database.cachedStatement(sql: "SELECT sent FROM tombstone WHERE \(ofTombstone)"),
            arguments: place)
        try database.cachedStatement(sql: "UPDATE tombstone SET sent = ? WHERE \(ofTombstone)")
            .execute(
                arguments: [SentMarks.data(SentMarks.list(known ?? Data()) + marks)] + place)
    }

    /// What was deleted here, and may come from devices that do not know of it.
    struct RepeatableDeletions {
        /// When this device last learned that the service lost history, and with it perhaps deletions; nil if never.
        var lossMilliseconds: Int64?
        /// Records that were deleted before it was known whether they had arrived: when, and what they were sent with.
        var unanswered: [String: (milliseconds: Int64, sent: Set<UInt64>)]

        var isAfterLoss: Bool { lossMilliseconds != nil }
    }

    func repeatableDeletions(
        in zone: ZoneRow, _ database: Database
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
            // What others have deleted since is gone for all, as is what the service has the deletion of.
            guard let milliseconds = try row.decode(Int64?.self, atIndex: 1) else { continue }
            deletions.unanswered[try row.decode(atIndex: 0)] =
                (milliseconds, Set(SentMarks.list(try row.decode(atIndex: 2))))
        }
        return deletions
    }

    /// When a record was deleted that was sent here without an answer, and is this one of the service; nil if there is none.
    func unansweredMilliseconds(
        _ server: RecordSnapshot, _ deletions: RepeatableDeletions
    ) -> Int64? {
        guard let known = deletions.unanswered[server.id.name],
            marksOfTimes(server).contains(where: { known.sent.contains($0) })
        else { return nil }
        return known.milliseconds
    }
}
