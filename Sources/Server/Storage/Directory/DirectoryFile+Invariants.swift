extension DirectoryFile {
    /// What holds between the rows of the directory.
    static let laws: [StoredLaw] = ownLaws + accountLaws

    private static let ownLaws: [StoredLaw] = [
        StoredLaw(
            "The directory has its signing key.",
            breaches: """
                SELECT 'signing_key' WHERE NOT EXISTS
                    (SELECT 1 FROM setting WHERE name = 'signing_key' AND length(value) >= 32)
                """),
        StoredLaw(
            "An API token opens a container that is there.",
            breaches: """
                SELECT container || ' ' || environment FROM api_token
                WHERE (container, environment) NOT IN
                    (SELECT container, environment FROM container)
                """),
        StoredLaw(
            "A session belongs to a user who is there.",
            breaches: "SELECT user FROM session WHERE user NOT IN (SELECT record_name FROM user)"),
        StoredLaw(
            "A device belongs to a user who is there.",
            breaches: "SELECT user FROM device WHERE user NOT IN (SELECT record_name FROM user)"),
        StoredLaw(
            "A record type belongs to a container that is there.",
            breaches: """
                SELECT DISTINCT container || ' ' || environment FROM schema_field
                WHERE (container, environment) NOT IN
                    (SELECT container, environment FROM container)
                """),
        StoredLaw(
            "A grant is about a record type that is there.",
            breaches: """
                SELECT record_type || ' ' || role FROM schema_grant
                WHERE (container, environment, record_type) NOT IN
                    (SELECT container, environment, record_type FROM schema_field)
                """),
        StoredLaw(
            "A grant is to a role that is there.",
            breaches: """
                SELECT record_type || ' ' || role FROM schema_grant
                WHERE role NOT IN ('_world', '_icloud', '_creator')
                    AND (container, environment, role) NOT IN
                        (SELECT container, environment, role FROM schema_role)
                """),
        StoredLaw(
            "A role that a user has is there.",
            breaches: """
                SELECT role || ' ' || user FROM role_member
                WHERE (container, environment, role) NOT IN
                    (SELECT container, environment, role FROM schema_role)
                """),
    ]
}
