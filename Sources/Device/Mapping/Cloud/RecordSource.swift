import StratusClient

/// Where the records are: a database with a change feed, one without, or a cache.
protocol RecordSource: Sendable {
    var zoneID: CKRecordZone.ID { get }
    /// Whether deletions are told by the source itself, not by entries of a queue.
    var tellsDeletions: Bool { get }
    /// Whether a record's asset may have no file because it was not fetched.
    var mayLackFiles: Bool { get }

    /// The user whose records they are; nil where they are everybody's.
    func userRecordName() async throws -> String?
    /// Whether what was made before the first save is still there.
    func isPrepared() async throws -> Bool
    /// Makes what must be there before the first save.
    func prepare() async throws
    /// Records by name; those that are not there are left out. Without files, assets
    /// stay where they are.
    func records(named names: [String], withFiles: Bool) async throws -> [String: CKRecord]
    /// Saves and deletes; each item has its own result, by record name.
    func modify(
        saving records: [CKRecord], deleting names: [String]
    ) async throws -> [String: Result<CKRecord?, any Error>]
    /// What changed since a mark; nil is everything.
    func changes(ofType type: String, since mark: String?) async throws -> RemoteChanges
    /// All records of a type that a predicate holds of.
    func records(ofType type: String, where field: String, is value: String) async throws
        -> [CKRecord]
    /// Lets this device be told of changes.
    func subscribe(types: [String]) async throws
    /// Whether a notification is about these records, and of which type; nil names all.
    func isAbout(_ notification: CKNotification) async -> (isOurs: Bool, type: String?)
    /// Brings a copy on this device in step with the service; nothing where there is none.
    func exchange() async throws
}

extension RecordSource {
    var mayLackFiles: Bool { false }
}

/// A source that asks a database of the service.
protocol DatabaseSource: RecordSource {
    var requests: DatabaseRequests { get }
}

extension DatabaseSource {
    var zoneID: CKRecordZone.ID { requests.zoneID }
    var database: CKDatabase { requests.database }

    func records(named names: [String], withFiles: Bool) async throws -> [String: CKRecord] {
        try await requests.records(named: names, withFiles: withFiles)
    }

    func modify(
        saving records: [CKRecord], deleting names: [String]
    ) async throws -> [String: Result<CKRecord?, any Error>] {
        try await requests.modify(saving: records, deleting: names)
    }

    func exchange() async throws {}
}

/// What a source says of a type's records.
struct RemoteChanges: Sendable {
    var records: [String: CKRecord] = [:]
    var deletedNames: Set<String> = []
    /// Whether these are all records of the type, so that one that lacks was deleted.
    var isComplete = false
    /// Where the next look begins.
    var mark: String?
}
