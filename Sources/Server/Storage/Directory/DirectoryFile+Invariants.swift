extension DirectoryFile {
    /// Invariants between the rows of the directory.
    static let invariants: [StoredInvariant] = ownInvariants + accountInvariants

    private static let ownInvariants: [StoredInvariant] = [
        StoredInvariant(
            "The directory has its signing key.",
            violations: """
                SELECT 'signing_key' WHERE NOT EXISTS
                    (SELECT 1 FROM setting WHERE name = 'signing_key' AND length(value) >= 32)
                """),
        existing(
            "An API token belongs to an existing container.",
            "container || ' ' || environment FROM api_token", "container, environment",
            in: "container"),
        ofUser("A session belongs to an existing user.", "user FROM session"),
        ofUser("A device belongs to an existing user.", "user FROM device"),
        existing(
            "A record type belongs to an existing container.",
            "DISTINCT container || ' ' || environment FROM schema_field", "container, environment",
            in: "container"),
        existing(
            "A grant is for an existing record type.",
            "record_type || ' ' || role FROM schema_grant",
            "container, environment, record_type", in: "schema_field"),
        StoredInvariant(
            "A grant is to an existing role.",
            violations: """
                SELECT record_type || ' ' || role FROM schema_grant
                WHERE role NOT IN ('_world', '_icloud', '_creator')
                    AND (container, environment, role) NOT IN
                        (SELECT container, environment, role FROM schema_role)
                """),
        existing(
            "A role that a user has exists.", "role || ' ' || user FROM role_member",
            "container, environment, role", in: "schema_role"),
    ]

    /// - Parameter rows: What is selected, and from which table with a column `user`.
    static func ofUser(_ sentence: String, _ rows: String) -> StoredInvariant {
        StoredInvariant(
            sentence, violations: "SELECT \(rows) WHERE user NOT IN (SELECT record_name FROM user)")
    }

    /// - Parameters:
    ///   - rows: What is selected, and from which table.
    ///   - columns: The columns that a row must have in common with one of the other table.
    private static func existing(
        _ sentence: String, _ rows: String, _ columns: String, in other: String
    ) -> StoredInvariant {
        StoredInvariant(
            sentence,
            violations: """
                SELECT \(rows)
                WHERE (\(columns)) NOT IN (SELECT \(columns) FROM \(other))
                """)
    }
}
