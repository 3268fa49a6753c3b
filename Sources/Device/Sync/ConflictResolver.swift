import StratusRecords

/// Two devices changed the same record: the conflict as a value.
public struct SyncConflict: Hashable, Sendable {
    /// The record as both sides last agreed on it; nil when both created it.
    public var ancestor: RecordSnapshot?
    /// The record as this device has it.
    public var client: RecordSnapshot
    /// The record as the service has it; its `system` is never nil.
    public var server: RecordSnapshot
    /// When this device last edited the record, in milliseconds since 1970 by its own clock.
    public var clientEditedMilliseconds: Int64

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
    /// The service's record with what this device changed since both agreed; where they never did,
    /// with all that this device has.
    package var clientOverServer: RecordSnapshot {
        var fields = Dictionary(server.fields.map { ($0.name, $0) }) { $1 }
        let agreed = Dictionary((ancestor?.fields ?? []).map { ($0.name, $0) }) { $1 }
        for field in client.fields where agreed[field.name] != field { fields[field.name] = field }
        for name in agreed.keys where client[name] == nil { fields[name] = nil }
        return server(with: Array(fields.values))
    }

    /// The fields in which what this device changed since both agreed is not what a record has.
    package func overruledKeys(by kept: RecordSnapshot) -> [String] {
        keys(editedIn: client, overruledBy: kept)
    }

    /// The fields in which what others changed since both agreed is not what a record has.
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

    /// The service's record with other fields, and with the parent that was set here.
    ///
    /// What the app encrypts stays encrypted, however a resolver made the field: this device's record
    /// says so, or the ancestor. A mark that a field has already is never taken away.
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

/// What becomes of a conflict.
public enum ConflictResolution: Hashable, Sendable {
    /// The service's record stands; the local edit is given up.
    case keepServer
    /// The local edit is sent again, on the service's change tag. What this device did not change
    /// since both agreed, its parent too, is as the service has it: fields that another device set,
    /// or that only a newer version of the app knows, stay.
    case keepClient
    /// These fields are sent, on the service's change tag; what they leave out is removed. The parent
    /// is the local one where it was changed here.
    case save(fields: [Field])
    /// This record is sent, its fields and its parent, on the service's change tag.
    case merge(RecordSnapshot)
    /// The session halts with this reason; both records are kept as they are.
    case halt(reason: String)
}

/// What becomes of a local edit whose record was deleted elsewhere.
public enum DeletionResolution: Hashable, Sendable {
    /// Deleted stays deleted; the app is told what was given up.
    case acceptDeletion
    /// The local record is saved as a new one.
    case resurrect
}

/// Decides conflicts. Called inside a database transaction: it must be quick, must not call the
/// cache, and for the same conflict must always decide the same.
public protocol ConflictResolver: Sendable {
    /// The field of records in which the resolver needs the times of edits, of each field one; nil when
    /// it needs none. The cache writes it with every edit.
    var fieldTimesKey: String? { get }

    /// The rules of single fields, where the times of their edits are noted otherwise.
    var fieldRules: [String: FieldRule] { get }

    /// The fields that the cache fills with every edit.
    var editStamps: EditStamps { get }

    func resolve(_ conflict: SyncConflict) -> ConflictResolution

    func resolveDeletion(
        of client: RecordSnapshot, clientEditedMilliseconds: Int64
    ) -> DeletionResolution
}

extension ConflictResolver {
    /// None.
    public var fieldTimesKey: String? { nil }
    /// None.
    public var fieldRules: [String: FieldRule] { [:] }
    /// None.
    public var editStamps: EditStamps { EditStamps() }

    /// Deleted stays deleted.
    public func resolveDeletion(
        of client: RecordSnapshot, clientEditedMilliseconds: Int64
    ) -> DeletionResolution {
        .acceptDeletion
    }
}

/// The edit that was made last wins; what the later device did not touch is as the earlier one left
/// it.
///
/// With an edit-date field (a date, or a number of milliseconds or edits) the greater value wins,
/// and a record that has the field wins over one that has not. Where neither has it, the time of the
/// local edit is compared with the service's modification date, which is later than the edit it
/// records: two devices that edit offline and meet later need the field. At equal values the service's
/// record wins, so all devices agree. Depends on the devices' clocks.
public struct LatestEditWins: ConflictResolver {
    /// The name of the field; nil when records have none.
    public var editDateKey: String?

    public init(editDateKey: String? = "editedAt") {
        self.editDateKey = editDateKey
    }

    public func resolve(_ conflict: SyncConflict) -> ConflictResolution {
        let client = editDateKey.flatMap { Self.order(of: conflict.client[$0]) }
        let server = editDateKey.flatMap { Self.order(of: conflict.server[$0]) }
        switch (client, server) {
        case (let client?, let server?): return client > server ? .keepClient : .keepServer
        case (.some, nil): return .keepClient
        case (nil, .some): return .keepServer
        case (nil, nil):
            let modified = conflict.server.system?.modifiedMilliseconds ?? .min
            return conflict.clientEditedMilliseconds > modified ? .keepClient : .keepServer
        }
    }

    private static func order(of value: FieldValue?) -> Double? {
        switch value {
        case .timestamp(let milliseconds, _): Double(milliseconds)
        case .int64(let number): Double(number)
        case .double(let number): number.isNaN ? nil : number
        default: nil
        }
    }
}
