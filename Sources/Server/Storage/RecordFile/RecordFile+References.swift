extension RecordFile {
    /// The references with an action, by their target, filled from the existing records.
    ///
    /// An object of a stored record that has `"action": "DELETE_SELF"` or `"VALIDATE"` is a reference:
    /// no other value has a member of that name.
    static let referenceTables = """
        CREATE TABLE reference_ (
            zone INTEGER NOT NULL,
            target TEXT NOT NULL,
            action INTEGER NOT NULL,
            holder TEXT NOT NULL,
            PRIMARY KEY (zone, target, action, holder)
        ) STRICT, WITHOUT ROWID;

        INSERT OR IGNORE INTO reference_
        SELECT record.zone, target.atom, CASE action.atom WHEN 'VALIDATE' THEN 2 ELSE 1 END,
            record.name
        FROM record
        JOIN json_tree(CAST(record.payload AS TEXT)) AS action
            ON action.key = 'action' AND action.atom IN ('DELETE_SELF', 'VALIDATE')
        JOIN json_tree(CAST(record.payload AS TEXT)) AS target
            ON target.key = 'recordName' AND target.path = action.path
                AND target.atom IS NOT NULL
        WHERE record.deleted = 0
            AND (instr(record.payload, CAST('DELETE_SELF' AS BLOB)) > 0
                OR instr(record.payload, CAST('VALIDATE' AS BLOB)) > 0);
        """
}
