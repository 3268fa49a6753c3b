extension DirectoryFile {
    /// The marks of a schema's fields (``FieldIndexes``). Existing fields and types get those that a save would have
    /// given them.
    static let schemaMarks = """
        ALTER TABLE schema_field ADD COLUMN indexes INTEGER NOT NULL DEFAULT 0;

        UPDATE schema_field SET indexes = CASE type
            WHEN 'STRING' THEN 7
            WHEN 'INT64' THEN 3 WHEN 'DOUBLE' THEN 3 WHEN 'TIMESTAMP' THEN 3 WHEN 'LOCATION' THEN 3
            WHEN 'REFERENCE' THEN 1 WHEN 'STRING_LIST' THEN 1 WHEN 'INT64_LIST' THEN 1
            WHEN 'DOUBLE_LIST' THEN 1 WHEN 'TIMESTAMP_LIST' THEN 1 WHEN 'LOCATION_LIST' THEN 1
            WHEN 'REFERENCE_LIST' THEN 1
            ELSE 0 END
        WHERE is_encrypted = 0;

        INSERT INTO schema_field (
            container, environment, record_type, field, type, is_encrypted, indexes)
        SELECT DISTINCT
            container, environment, record_type, system.name, system.type, 0, system.indexes
        FROM schema_field CROSS JOIN (
            SELECT '___recordID' AS name, 'REFERENCE' AS type, 1 AS indexes
            UNION ALL SELECT '___createTime', 'TIMESTAMP', 3
            UNION ALL SELECT '___modTime', 'TIMESTAMP', 3
        ) AS system;
        """

    /// Makes the creator and modifier of records queryable in development. Existing types get the marks only if their
    /// other marks are still those that a save gives: what a schema file has changed stays.
    static let creatorMarks = """
        INSERT OR IGNORE INTO schema_field (
            container, environment, record_type, field, type, is_encrypted, indexes)
        SELECT container, environment, record_type, system.name, 'REFERENCE', 0, 1
        FROM schema_field CROSS JOIN (
            SELECT '___createdBy' AS name UNION ALL SELECT '___modifiedBy'
        ) AS system
        WHERE environment = 'development'
            AND (field, indexes) IN (
                VALUES ('___recordID', 1), ('___createTime', 3), ('___modTime', 3))
        GROUP BY container, environment, record_type, system.name
        HAVING COUNT(*) = 3;
        """

    /// Roles, grants, and a counter of a schema's changes.
    static let schemaRoles = """
        CREATE TABLE schema_state (
            container TEXT NOT NULL,
            environment TEXT NOT NULL,
            version INTEGER NOT NULL,
            PRIMARY KEY (container, environment)
        ) STRICT, WITHOUT ROWID;
        INSERT INTO schema_state SELECT DISTINCT container, environment, 1 FROM schema_field;

        CREATE TABLE schema_role (
            container TEXT NOT NULL,
            environment TEXT NOT NULL,
            role TEXT NOT NULL,
            PRIMARY KEY (container, environment, role)
        ) STRICT, WITHOUT ROWID;

        -- A record type without a row has the standard grants.
        CREATE TABLE schema_grant (
            container TEXT NOT NULL,
            environment TEXT NOT NULL,
            record_type TEXT NOT NULL,
            role TEXT NOT NULL,
            permissions INTEGER NOT NULL,
            PRIMARY KEY (container, environment, record_type, role)
        ) STRICT, WITHOUT ROWID;

        CREATE TABLE role_member (
            container TEXT NOT NULL,
            environment TEXT NOT NULL,
            role TEXT NOT NULL,
            user TEXT NOT NULL,
            PRIMARY KEY (container, environment, role, user)
        ) STRICT, WITHOUT ROWID;
        """
}
