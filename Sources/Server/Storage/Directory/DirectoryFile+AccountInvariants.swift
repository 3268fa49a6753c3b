extension DirectoryFile {
    /// What holds of people and keys.
    static let accountLaws: [StoredLaw] = [
        StoredLaw(
            "An identity belongs to a user who is there.",
            breaches: """
                SELECT issuer || ' ' || subject FROM identity
                WHERE user NOT IN (SELECT record_name FROM user)
                """),
        StoredLaw(
            "Only a user who is there can be found.",
            breaches: """
                SELECT user FROM discoverable WHERE user NOT IN (SELECT record_name FROM user)
                """),
        StoredLaw(
            "A server's key belongs to a user and opens a container who are there.",
            breaches: """
                SELECT identifier FROM server_key
                WHERE user NOT IN (SELECT record_name FROM user)
                    OR (container, environment) NOT IN
                        (SELECT container, environment FROM container)
                """),
        StoredLaw(
            "A session that is good for one container names one that is there.",
            breaches: """
                SELECT identifier FROM session
                WHERE container IS NOT NULL AND (container, environment) NOT IN
                    (SELECT container, environment FROM container)
                """),
    ]
}
