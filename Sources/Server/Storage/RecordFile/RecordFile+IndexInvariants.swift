extension RecordFile {
    /// Invariants between records and their index entries. The keys of the entries are checked in
    /// StratusService.
    static let indexInvariants: [StoredInvariant] = [
        StoredInvariant(
            "An entry of an index belongs to a record of its type.",
            recoveryAction: .rebuild,
            violations: """
                SELECT record_index.name FROM record_index
                    LEFT JOIN index_definition USING (index_id)
                    LEFT JOIN record USING (zone, name)
                WHERE phase IS NULL OR phase <> 2
                    AND (record.type IS NULL OR record.deleted <> 0
                        OR record.type <> index_definition.record_type)
                """),
        StoredInvariant(
            "A record is found by its type, once the index of its names is built.",
            recoveryAction: .rebuild,
            violations: """
                SELECT record.name FROM record
                    JOIN index_definition ON record_type = record.type AND kind = 0 AND phase = 1
                WHERE record.deleted = 0
                    AND record.zone NOT IN (SELECT zone FROM long_change WHERE kind = 3)
                    AND NOT EXISTS (
                    SELECT 1 FROM record_index AS entry
                    WHERE entry.zone = record.zone AND entry.index_id = index_definition.index_id
                        AND entry.key = x'' AND entry.name = record.name)
                """),
    ]
}
