extension DirectoryFile {
    /// Invariants of users and keys.
    static let accountInvariants: [StoredInvariant] = [
        StoredInvariant(
            "An identity belongs to a user who is there.",
            violations: """
                SELECT issuer || ' ' || subject FROM identity
                WHERE user NOT IN (SELECT record_name FROM user)
                """),
        StoredInvariant(
            "Only a user who is there can be found.",
            violations: """
                SELECT user FROM discoverable WHERE user NOT IN (SELECT record_name FROM user)
                """),
        StoredInvariant(
            "A server's key belongs to a user and opens a container who are there.",
            violations: """
                SELECT identifier FROM server_key
                WHERE user NOT IN (SELECT record_name FROM user)
                    OR (container, environment) NOT IN
                        (SELECT container, environment FROM container)
                """),
        StoredInvariant(
            "A session that is good for one container names one that is there.",
            violations: """
                SELECT identifier FROM session
                WHERE container IS NOT NULL AND (container, environment) NOT IN
                    (SELECT container, environment FROM container)
                """),
    ]
}
