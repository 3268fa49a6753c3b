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
        StoredInvariant(
            "An API token belongs to an existing container.",
            violations: """
                SELECT container || ' ' || environment FROM api_token
                WHERE (container, environment) NOT IN
                    (SELECT container, environment FROM container)
                """),
        StoredInvariant(
            "A session belongs to an existing user.",
            violations: "SELECT user FROM session WHERE user NOT IN (SELECT record_name FROM user)"),
        StoredInvariant(
            "A device belongs to an existing user.",
            violations: "SELECT user FROM device WHERE user NOT IN (SELECT record_name FROM user)"),
        StoredInvariant(
            "A record type belongs to an existing container.",
            violations: """
                SELECT DISTINCT container || ' ' || environment FROM schema_field
                WHERE (container, environment) NOT IN
                    (SELECT container, environment FROM container)
                """),
        StoredInvariant(
            "A grant is for an existing record type.",
            violations: """
                SELECT record_type || ' ' || role FROM schema_grant
                WHERE (container, environment, record_type) NOT IN
                    (SELECT container, environment, record_type FROM schema_field)
                """),
        StoredInvariant(
            "A grant is to an existing role.",
            violations: """
                SELECT record_type || ' ' || role FROM schema_grant
                WHERE role NOT IN ('_world', '_icloud', '_creator')
                    AND (container, environment, role) NOT IN
                        (SELECT container, environment, role FROM schema_role)
                """),
        StoredInvariant(
            "A role that a user has exists.",
            violations: """
                SELECT role || ' ' || user FROM role_member
                WHERE (container, environment, role) NOT IN
                    (SELECT container, environment, role FROM schema_role)
                """),
    ]
}
