import StratusClient

/// A source of records: a database with a change feed, one without, or a cache.
protocol RecordSource: Sendable {
    var zoneID: CKRecordZone.ID { get }
    /// Whether the source itself reports deletions; otherwise they are entries of `DeleteQueue`.
    var tellsDeletions: Bool { get }
    /// Whether a record's asset may have no file because it was not fetched.
    var mayLackFiles: Bool { get }

    /// Whether it may be that the user is known only after ``exchange()``.
    var learnsUserByExchange: Bool { get }

    /// The user who owns the records; nil for public ones, and if it is not known yet.
    func userRecordName() async throws -> String?
    /// Whether the zone or schema that ``prepare()`` created still exists.
    func isPrepared() async throws -> Bool
    /// Creates what must exist before the first save.
    func prepare() async throws
    /// Records by name; missing ones are left out. Assets are downloaded only if `withFiles` is
    /// true.
    func records(named names: [String], withFiles: Bool) async throws -> NamedRecords
    /// Saves and deletes; each item has its own result, by record name.
    func modify(
        saving records: [CKRecord], deleting names: [String]
    ) async throws -> [String: Result<CKRecord?, any Error>]
    /// The changes since a mark; nil means everything.
    func changes(ofType type: String, since mark: String?) async throws -> RemoteChanges
    /// All records of a type whose field has a value.
    func records(ofType type: String, where field: String, is value: String) async throws
        -> [CKRecord]
    /// Subscribes this device to changes.
    func subscribe(types: [String]) async throws
    /// Whether a notification is about these records, and of which type; nil means all types.
    func isAbout(_ notification: CKNotification) async -> (isOurs: Bool, type: String?)
    /// Syncs a local copy with the service; does nothing if there is none.
    func exchange() async throws
    /// - Throws: an error if a record exists that this version of the app does not see.
    func refuseIfHidden(_ name: String) async throws
}

extension RecordSource {
    var mayLackFiles: Bool { false }
    var learnsUserByExchange: Bool { false }

    func refuseIfHidden(_ name: String) async throws {}
}

/// A source that sends requests to a database of the service.
protocol DatabaseSource: RecordSource {
    var requests: DatabaseRequests { get }
}

extension DatabaseSource {
    var zoneID: CKRecordZone.ID { requests.zoneID }
    var database: CKDatabase { requests.database }

    func records(named names: [String], withFiles: Bool) async throws -> NamedRecords {
        try await requests.records(named: names, withFiles: withFiles)
    }

    func modify(
        saving records: [CKRecord], deleting names: [String]
    ) async throws -> [String: Result<CKRecord?, any Error>] {
        try await requests.modify(saving: records, deleting: names)
    }

    func exchange() async throws {}
}

/// Records by name.
struct NamedRecords: Sendable {
    var records: [String: CKRecord] = [:]
    /// The errors of records that exist, but that this version of the app cannot read.
    var unreadable: [String: CKError] = [:]

    mutating func add(_ other: NamedRecords) {
        records.merge(other.records) { $1 }
        unreadable.merge(other.unreadable) { $1 }
    }
}

/// The changes of a type's records.
struct RemoteChanges: Sendable {
    var records: [String: CKRecord] = [:]
    var deletedNames: Set<String> = []
    /// Existing records that this version of the app does not see. Their objects stay unchanged, and edits and
    /// deletions of these objects wait until the app is updated.
    var hiddenNames: Set<String> = []
    /// The errors of changed records that this version of the app cannot read.
    var unreadable: [String: CKError] = [:]
    /// Whether these are all records of the type, so that missing ones were deleted.
    var isComplete = false
    /// The mark for the next request.
    var mark: String?
}
