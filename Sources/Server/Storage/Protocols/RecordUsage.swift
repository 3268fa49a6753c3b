/// The size of a database, as quotas count it. The database maintains the number itself, however rows are written,
/// zones deleted and tombstones purged.
public protocol RecordUsage {
    /// The bytes of the living records: their names and stored fields (`RecordRow.sizeBytes`). A
    /// counter; costs one row.
    var recordBytes: Int64 { get throws }

    /// The same, computed from the rows. Reads the whole database.
    func countRecordBytes() throws -> Int64
}

extension RecordRow {
    /// What the record counts towards its database's quota; a tombstone counts nothing.
    package var sizeBytes: Int64 {
        isDeleted ? 0 : Int64(name.utf8.count + payload.count)
    }
}
