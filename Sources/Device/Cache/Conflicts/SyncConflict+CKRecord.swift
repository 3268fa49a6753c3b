import StratusClient
import StratusRecords
import StratusSync

extension SyncConflict {
    /// The common ancestor of both versions; nil when both sides created the record.
    public func ancestorRecord() throws -> CKRecord? { try ancestor?.record() }
    /// This device's version of the record.
    public func clientRecord() throws -> CKRecord { try client.record() }
    /// The service's version of the record: merge into this one.
    ///
    /// ```swift
    /// struct LongerTitle: ConflictResolver {
    ///     func resolve(_ conflict: SyncConflict) -> ConflictResolution {
    ///         do {
    ///             let (mine, merged) = try (conflict.clientRecord(), conflict.serverRecord())
    ///             let titles = [mine, merged].map { $0["title"] as String? ?? "" }
    ///             merged["title"] = titles.max { $0.count < $1.count }
    ///             return try .save(merged)
    ///         } catch {
    ///             return .halt(reason: "A record cannot be read: \(error)")
    ///         }
    ///     }
    /// }
    /// ```
    public func serverRecord() throws -> CKRecord { try server.record() }
}

extension ConflictResolution {
    /// Sends the fields of this record with the service's change tag.
    public static func save(_ record: CKRecord) throws -> ConflictResolution {
        .save(fields: try RecordSnapshot(record).fields)
    }
}
