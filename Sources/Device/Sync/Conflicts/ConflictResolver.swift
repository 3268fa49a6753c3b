import StratusRecords

/// A conflict: two devices changed the same record.
public struct SyncConflict: Hashable, Sendable {
    /// The common ancestor of both versions; nil when both sides created the record.
    public var ancestor: RecordSnapshot?
    /// This device's version of the record.
    public var client: RecordSnapshot
    /// The service's version of the record; its `system` is never nil.
    public var server: RecordSnapshot
    /// When this device last edited the record, in milliseconds since 1970 by its own clock.
    public var clientEditedMilliseconds: Int64

    /// Makes a conflict of a record's versions; the cache does it when the service refuses a stale change tag.
    public init(
        ancestor: RecordSnapshot?, client: RecordSnapshot, server: RecordSnapshot,
        clientEditedMilliseconds: Int64
    ) {
        self.ancestor = ancestor
        self.client = client
        self.server = server
        self.clientEditedMilliseconds = clientEditedMilliseconds
    }
}

extension SyncConflict {
    /// The service's record with this device's changes since the ancestor; without an ancestor,
    /// with all of this device's fields.
    package var clientOverServer: RecordSnapshot {
        var fields = Dictionary(server.fields.map { ($0.name, $0) }) { $1 }
        let agreed = Dictionary((ancestor?.fields ?? []).map { ($0.name, $0) }) { $1 }
        for field in client.fields where agreed[field.name] != field { fields[field.name] = field }
        for name in agreed.keys where client[name] == nil { fields[name] = nil }
        return server(with: Array(fields.values))
    }

    /// The fields that this device changed since the ancestor and that have another value in a
    /// record.
    package func overruledKeys(by kept: RecordSnapshot) -> [String] {
        keys(editedIn: client, overruledBy: kept)
    }

    /// The fields that others changed since the ancestor and that have another value in a record.
    package func overruledServerKeys(by kept: RecordSnapshot) -> [String] {
        keys(editedIn: server, overruledBy: kept)
    }

    private func keys(editedIn record: RecordSnapshot, overruledBy kept: RecordSnapshot) -> [String]
    {
        let names = Set((record.fields + (ancestor?.fields ?? [])).map(\.name))
        return names.filter { name in
            let edited = record.field(name)
            return edited != ancestor?.field(name) && edited != kept.field(name)
        }.sorted()
    }

    /// The service's record with these fields, and with the parent that was set here.
    ///
    /// A field that is encrypted in this device's record or in the ancestor stays encrypted, even
    /// if a resolver made it plain, and a field that is marked as encrypted stays so.
    package func server(with fields: [Field]) -> RecordSnapshot {
        let marks = Dictionary(
            ((ancestor?.fields ?? []) + client.fields).map { ($0.name, $0.isEncrypted) }
        ) { $1 }
        var merged = server
        merged.setFields(
            fields.map { field in
                var field = field
                field.isEncrypted = field.isEncrypted || marks[field.name] ?? false
                return field
            })
        if client.parentRecordName != ancestor?.parentRecordName {
            merged.parentRecordName = client.parentRecordName
        }
        return merged
    }
}

/// The resolution of a conflict.
public enum ConflictResolution: Hashable, Sendable {
    /// The service's record is kept; the local edit is discarded.
    case keepServer
    /// The local edit is sent again, with the service's change tag. Fields that this device did not
    /// change since the ancestor, and the parent, have the service's values: fields that another
    /// device set, or that only a newer version of the app knows, are kept.
    case keepClient
    /// These fields are sent, with the service's change tag; other fields are removed. The parent
    /// is the local one if it was changed here.
    case save(fields: [Field])
    /// This record is sent, with its fields, its parent and the service's change tag.
    case merge(RecordSnapshot)
    /// The session halts with this reason; both versions are kept.
    case halt(reason: String)
}

/// The resolution of a local edit whose record was deleted elsewhere.
public enum DeletionResolution: Hashable, Sendable {
    /// The record stays deleted; the discarded edit is reported to the app.
    case acceptDeletion
    /// The local record is saved as a new one.
    case resurrect
}

/// Resolves conflicts. It is called inside a database transaction: it must be fast, must not call
/// the cache, and must be deterministic.
///
/// ```swift
/// struct MostBeds: ConflictResolver {
///     func resolve(_ conflict: SyncConflict) -> ConflictResolution {
///         guard case .int64(let mine)? = conflict.client["beds"],
///             case .int64(let theirs)? = conflict.server["beds"]
///         else { return .keepClient }
///         return mine > theirs ? .keepClient : .keepServer
///     }
/// }
/// ```
public protocol ConflictResolver: Sendable {
    /// The field with the time of each field's last edit; nil if the resolver needs none. The cache
    /// writes it with every edit.
    var fieldTimesKey: String? { get }

    /// The rules of single fields whose edits are not recorded by their times alone.
    var fieldRules: [String: FieldRule] { get }

    /// The fields that the cache sets with every edit.
    var editStamps: EditStamps { get }

    /// Decides which version is kept, or merges both.
    ///
    /// It is called again if the record changes at the service before the resolution is saved, at most
    /// `SyncSettings.maximumConflictRounds` times for one change.
    func resolve(_ conflict: SyncConflict) -> ConflictResolution

    /// Decides about a local edit of a record that was deleted elsewhere.
    ///
    /// - Parameters:
    ///   - client: this device's version of the record.
    ///   - clientEditedMilliseconds: when this device last edited it, in milliseconds since 1970 by its own clock.
    func resolveDeletion(
        of client: RecordSnapshot, clientEditedMilliseconds: Int64
    ) -> DeletionResolution
}
