extension DirectoryFile {
    /// The marks of a schema's fields (``FieldIndexes``). Fields and types that were there before get
    /// those that a save would have given them.
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
}
