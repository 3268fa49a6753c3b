extension DirectoryFile {
    /// Invariants of users and keys.
    static let accountInvariants: [StoredInvariant] = [
        ofUser(
            "An identity belongs to an existing user.", "issuer || ' ' || subject FROM identity"),
        ofUser("Only an existing user can be found.", "user FROM discoverable"),
        StoredInvariant(
            "A server's key belongs to an existing user and container.",
            violations: """
                SELECT identifier FROM server_key
                WHERE user NOT IN (SELECT record_name FROM user)
                    OR (container, environment) NOT IN
                        (SELECT container, environment FROM container)
                """),
        StoredInvariant(
            "A session for one container names an existing one.",
            violations: """
                SELECT identifier FROM session
                WHERE container IS NOT NULL AND (container, environment) NOT IN
                    (SELECT container, environment FROM container)
                """),
    ]
}
