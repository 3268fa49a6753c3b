import GRDB
import StratusSQLite

extension RecordFile {
    /// The epochs of the database and of its zones. The design is in Documentation/Decisions/0017.
    ///
    /// The former "incarnation" becomes the epoch that reaches back to the beginning.
    static let epochTables = """
        ALTER TABLE history RENAME COLUMN incarnation_number TO epoch_number;
        ALTER TABLE history RENAME COLUMN incarnation_identifier TO epoch_identifier;

        -- zone is 0 for the database itself. start is the version before the first change in the epoch.
        CREATE TABLE epoch (
            zone INTEGER NOT NULL,
            number INTEGER NOT NULL,
            identifier INTEGER NOT NULL,
            start INTEGER NOT NULL,
            started_ms INTEGER NOT NULL,
            PRIMARY KEY (zone, number)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO epoch SELECT 0, epoch_number, epoch_identifier, 0, 0 FROM history;
        INSERT INTO epoch SELECT zone.zone, epoch_number, epoch_identifier, 0, 0
            FROM zone, history WHERE zone.version > 0;

        -- The number of the epoch of the newest change; 0 before the first.
        ALTER TABLE zone ADD COLUMN epoch INTEGER NOT NULL DEFAULT 0;
        UPDATE zone SET epoch = (SELECT epoch_number FROM history) WHERE version > 0;

        ALTER TABLE outbox ADD COLUMN epoch_number INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE outbox ADD COLUMN epoch_identifier INTEGER NOT NULL DEFAULT 0;
        UPDATE outbox SET (epoch_number, epoch_identifier) =
            (SELECT epoch_number, epoch_identifier FROM history);
        """

    static let epochInvariants: [StoredInvariant] = [
        StoredInvariant(
            "The history names the newest epoch.",
            violations: """
                SELECT 'epoch ' || epoch_number FROM history
                WHERE NOT EXISTS (SELECT 1 FROM epoch WHERE zone = 0 AND number = epoch_number
                        AND identifier = epoch_identifier)
                    OR EXISTS (SELECT 1 FROM epoch WHERE number > epoch_number)
                """),
        StoredInvariant(
            "A zone names the epoch of its newest change.",
            violations: """
                SELECT zone.name FROM zone WHERE zone.epoch <> coalesce(
                    (SELECT max(number) FROM epoch WHERE epoch.zone = zone.zone), 0)
                """),
        StoredInvariant(
            "Epochs begin one after the other, at versions that were reached.",
            violations: """
                SELECT 'epoch ' || later.number FROM epoch AS later
                LEFT JOIN zone ON zone.zone = later.zone
                WHERE later.start > coalesce(zone.version, (SELECT version FROM history))
                    OR later.start < (SELECT max(start) FROM epoch AS earlier
                        WHERE earlier.zone = later.zone AND earlier.number < later.number)
                """),
        StoredInvariant(
            "A zone's epoch is one of the database's.",
            violations: """
                SELECT 'epoch ' || own.number FROM epoch AS own JOIN epoch AS whole
                    ON whole.zone = 0 AND whole.number = own.number
                WHERE own.identifier <> whole.identifier
                """),
    ]

    /// Gives a copy of an unused database an epoch of its own: its tables are in the newest format.
    ///
    /// - Returns: False for a database of the first format, which has no epochs yet.
    static func renameFirstEpoch(_ database: Database, _ epoch: Epoch) throws -> Bool {
        guard try database.tableExists("epoch") else { return false }
        for sql in [
            "UPDATE history SET epoch_identifier = ?", "UPDATE epoch SET identifier = ?",
        ] {
            try SQLStatement(database, sql).bind(1, Int64(bitPattern: epoch.identifier)).run()
        }
        return true
    }
}
