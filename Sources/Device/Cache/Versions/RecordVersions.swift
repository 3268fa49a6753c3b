import StratusClient

/// Which version of each record type this app writes, what happens to records that a newer app wrote, and how
/// older ones are migrated.
///
/// The version of a record is a number in a field of its own, which the cache writes. A record without it has
/// version 0.
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
        /// The zone is neither fetched nor sent until the app is updated; what is here stays, and local edits
        /// wait. Other zones go on.
        case haltZone
        /// The zone keeps syncing; only the records of newer apps cannot be changed. A local edit of such a
        /// record that was not sent yet is dropped, and reported.
        case goOn
    }

    /// What an app sees of a record that a newer one wrote.
    public enum Sight: Hashable, Sendable {
        /// It can be read; saving or deleting it is refused with `newerRecord`.
        case readOnly
        /// It is kept, but no query, count or observer returns it. The views of ``CachedType`` do have it;
        /// there the version's field, if it is declared, tells it apart.
        case hidden
    }

    /// How far a migration reaches.
    public enum Reach: Hashable, Sendable {
        /// It is an edit: it is sent, and other devices get it. In the shared database it is as
        /// ``locally``: its owners' devices send theirs.
        case edit
        /// It is made on this device alone, of each record as it comes; the service keeps the older one.
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

    public init() {}

    /// Declares the version of a type that this app reads and writes.
    ///
    /// - Parameters:
    ///   - type: the record type.
    ///   - key: an INT64 field of its own.
    ///   - current: from 1 on; raised by every release whose records older ones must not touch.
    public mutating func declare(_ type: CKRecord.RecordType, key: String, current: Int64) {
        declarations[type] = Declaration(
            key: key, current: current, steps: declarations[type]?.steps ?? [])
    }

    /// Migrates older records: each record with a smaller version, once. The cache then raises its version.
    ///
    /// Of records that are here it is done when syncing begins, or by ``CloudCache/migrateRecords()``;
    /// of others as they come. A record is migrated and its version raised in one transaction, so that it is
    /// done once also over restarts. Two devices that migrate the same record must come to the same.
    ///
    /// - Parameters:
    ///   - type: a type that was declared.
    ///   - version: the version that the record has afterwards.
    ///   - reach: whether it is an edit.
    ///   - body: from record to record. It must be quick, must not call the cache, and must always make the
    ///     same of the same. When it throws, the record stays as it is, and the log says so.
    public mutating func migrate(
        _ type: CKRecord.RecordType, to version: Int64, as reach: Reach = .edit,
        _ body: @escaping @Sendable (CKRecord) throws -> CKRecord
    ) {
        declarations[type, default: Declaration(key: "version", current: version)].steps
            .append(Step(version: version, reach: reach, body: body))
        declarations[type]?.steps.sort { $0.version < $1.version }
    }
}
