import StratusClient

/// Which version of each record type this app writes, what happens to records that a newer app wrote, and how
/// older ones are migrated.
///
/// The version of a record is a number in a separate field, which the cache writes. A record
/// without it has version 0.
///
/// ```swift
/// var versions = RecordVersions()
/// versions.declare("Item", key: "version", current: 2)
/// versions.migrate("Item", to: 2) { record in
///     record["title"] = record["name"] as String?
///     record["name"] = nil as String?
///     return record
/// }
/// let cache = try CloudCache(path: path, container: .default(), versions: versions)
/// ```
public struct RecordVersions: Sendable {
    /// What happens to a zone that has a record of a newer app.
    public enum NewerRecords: Hashable, Sendable {
        /// The zone is neither fetched nor sent until the app is updated; its records stay here,
        /// and local edits wait. Other zones are synced.
        case haltZone
        /// The zone keeps syncing; only the records of newer apps cannot be changed. A local edit of such a
        /// record that was not sent yet is dropped, and reported; a deletion needs attention.
        /// If a restore of the service lost such a record, and an older app has edited the service's since, the
        /// service's is kept here, and the lost one is reported.
        case goOn
    }

    /// How an app sees a record of a newer app.
    public enum Sight: Hashable, Sendable {
        /// It can be read; saving or deleting it is refused with `newerRecord`.
        case readOnly
        /// It is kept, but no query, count or observer returns it. The views of ``CachedType`` do
        /// contain it; the version's field, if it is declared, identifies it there.
        case hidden
    }

    /// How far a migration reaches.
    public enum Reach: Hashable, Sendable {
        /// The migration is an edit, which is sent to other devices. In the shared database it is
        /// the same as ``locally``, because the owners' devices send theirs.
        case edit
        /// Each record is migrated only on this device, as it arrives; the service keeps the older
        /// one.
        case locally
    }

    struct Step: Sendable {
        var version: Int64
        var reach: Reach
        var body: @Sendable (CKRecord) throws -> CKRecord
    }

    struct Declaration: Sendable {
        var key: String
        var current: Int64
        var steps: [Step] = []
    }

    /// What happens to a zone that has a record of a newer app.
    public var newerRecords = NewerRecords.haltZone
    /// What the app sees of such a record.
    public var sight = Sight.readOnly

    private(set) var declarations: [String: Declaration] = [:]

    /// Makes versions that declare no record type.
    public init() {}

    /// Declares the version of a type that this app reads and writes.
    ///
    /// - Parameters:
    ///   - type: the record type.
    ///   - key: an INT64 field for the version only.
    ///   - current: 1 or greater; increased by every release whose records older releases must not
    ///     change.
    public mutating func declare(_ type: CKRecord.RecordType, key: String, current: Int64) {
        declarations[type] = Declaration(
            key: key, current: current, steps: declarations[type]?.steps ?? [])
    }

    /// Migrates older records: each record with a smaller version, once. The cache then raises its version.
    ///
    /// Records on this device are migrated when syncing begins, or by ``CloudCache/migrateRecords()``; others as they
    /// arrive. A record is migrated and its version raised in one transaction, so that it is migrated only once even
    /// across restarts. Two devices that migrate the same record must get the same result.
    ///
    /// A migration is not a person's edit: for ``FieldWise`` the values that it writes are as old as those that it
    /// read. So a person's edit of the new field wins however late a device migrates, and an older app's later edit of
    /// the field that it reads is migrated instead. If the migration reads an encrypted value for which this device has
    /// no key, the record waits for the key.
    ///
    /// - Parameters:
    ///   - type: a type that was declared.
    ///   - version: the version that the record has afterwards.
    ///   - reach: whether the migration is sent as an edit.
    ///   - body: migrates a record. It must be fast, must not call the cache, and must be
    ///     deterministic. When it throws, the record stays unchanged, and the error is logged.
    public mutating func migrate(
        _ type: CKRecord.RecordType, to version: Int64, as reach: Reach = .edit,
        _ body: @escaping @Sendable (CKRecord) throws -> CKRecord
    ) {
        declarations[type, default: Declaration(key: "version", current: version)].steps
            .append(Step(version: version, reach: reach, body: body))
        declarations[type]?.steps.sort { $0.version < $1.version }
    }
}
