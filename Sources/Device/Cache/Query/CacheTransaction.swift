import GRDB
import StratusClient
import StratusRecords

/// A transaction on a cache's file: records and the app's own tables, written together or not at all.
///
/// Valid only in the closure that receives it, and on its thread. Inside the closure, save and read with it, not with
/// the cache, which waits for the transaction to end.
public final class CacheTransaction {
    private let cache: CloudCache
    private let connection: Database
    private(set) var outcomes: [(database: CachedDatabase, outcome: CacheOutcome)] = []
    private(set) var wantedZones: [(database: CachedDatabase, zones: [ZoneID])] = []
    private(set) var taken: [(record: CKRecord, edit: LocalEdit)] = []
    private(set) var encrypted: [(store: CacheStore, fields: Set<EncryptedField>)] = []

    init(_ cache: CloudCache, _ connection: Database) {
        self.cache = cache
        self.connection = connection
    }

    /// GRDB's connection, for the app's own SQL.
    ///
    /// It can read everything, records through the views `records_…` (``CachedType``), and can write the app's own
    /// tables, indexes, views and triggers, whose names begin with `app_`. The cache never creates or changes anything
    /// with such a name. They must refer to records by name, not by a foreign key. SQL that writes anything else makes
    /// the transaction fail.
    public var database: Database { connection }

    /// Saves records and deletes others; see `CloudCache.save(_:deleting:in:)`.
    ///
    /// A new file of an asset is refused with ``CacheError`` `unsupportedValue`: save its record with the cache first.
    ///
    /// - Throws: as that; then nothing of this save is in the transaction, which the app may continue.
    public func save(
        _ records: [CKRecord], deleting ids: [CKRecord.ID] = [],
        in scope: CKDatabase.Scope = .private
    ) throws {
        // Copying files here could deadlock: it waits for a removal of files, which waits for this
        // transaction.
        try cache.refuseNewFiles(
            of: records,
            "A transaction saves none. Save the record with the cache, before the transaction.")
        let edits = try CloudCache.edits(of: records)
        let database = try cache.database(scope)
        let store = database.store
        try cache.file.appStatements.pause {
            var zones: [ZoneID] = []
            var fields: Set<EncryptedField> = []
            var saved = CacheOutcome()
            try ofCache {
                // If the app continues after an error, nothing of this save is left.
                try connection.inSavepoint {
                    saved = try store.write(in: connection) { connection, outcome in
                        (zones, fields) = try store.commit(
                            edits: edits.map(\.edit), deletions: ids.map { RecordID($0) },
                            &outcome, connection)
                    }
                    return .commit
                }
            }
            outcomes.append((database, saved))
            wantedZones.append((database, zones))
            encrypted.append((store, fields))
        }
        taken += edits
    }

    /// Saves a record; see `CloudCache.save(_:deleting:in:)`.
    public func save(_ record: CKRecord, in scope: CKDatabase.Scope = .private) throws {
        try save([record], in: scope)
    }

    /// Deletes a record; see `CloudCache.delete(_:in:)`.
    public func delete(_ id: CKRecord.ID, in scope: CKDatabase.Scope = .private) throws {
        try save([], deleting: [id], in: scope)
    }

    /// A record within the transaction; nil when it is not here.
    public func record(
        for id: CKRecord.ID, in scope: CKDatabase.Scope = .private
    ) throws -> CKRecord? {
        let store = try cache.database(scope).store
        return try ofCache { try store.rows(of: [RecordID(id)], connection) }.first
            .map { cache.file.withFiles(try $0.record.record()) }
    }

    /// The records that a query finds within the transaction.
    public func records(
        matching query: CacheQuery, in scope: CKDatabase.Scope = .private
    ) throws -> [CKRecord] {
        let store = try cache.database(scope).store
        let compiled = try query.compiled(now: cache.world.now)
        return try CachePage(
            try ofCache { try store.find(compiled, connection) }, of: compiled, cache.file
        ).records
    }

    /// Distinguishes damaged rows of the cache from rows that the app's own code cannot decode.
    private func ofCache<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch is RowDecodingError {
            throw CacheError.damagedRow
        }
    }
}

/// A row that the app's own code cannot decode: its tables are not the cache's concern, so the file is not moved aside.
/// The app gets its own error.
private struct AppRowError: Error {
    var error: RowDecodingError

    static func added<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as RowDecodingError {
            throw Self(error: error)
        }
    }

    static func removed<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as Self {
            throw error.error
        }
    }
}

/// The app's own SQL in the file of the records.
///
/// ```swift
/// try await cache.write { transaction in
///     try transaction.database.execute(sql: """
///         CREATE TABLE IF NOT EXISTS app_draft (note TEXT PRIMARY KEY, text TEXT NOT NULL)
///         """)
///     try transaction.save(note)
///     try transaction.database.execute(
///         sql: "INSERT OR REPLACE INTO app_draft VALUES (?, ?)",
///         arguments: [note.recordID.recordName, "unfinished"])
/// }
/// let titles = try await cache.read { database in
///     try String.fetchAll(database, sql: "SELECT title FROM records_Note WHERE isDone = 0")
/// }
/// ```
extension CloudCache {
    /// Runs one transaction on records and on the app's own tables; see ``CacheTransaction/database``.
    ///
    /// - Throws: what the body throws, ``CacheError`` `reservedTable`, and as
    ///   `save(_:deleting:in:)`; then nothing is written.
    public func write<Value>(_ body: (CacheTransaction) throws -> Value) throws -> Value {
        let (value, done) = try AppRowError.removed {
            try file.write { connection in
                let transaction = CacheTransaction(self, connection)
                let value = try file.appStatements.run(connection) {
                    try AppRowError.added { try body(transaction) }
                }
                return (value, transaction)
            }
        }
        for (store, fields) in done.encrypted { store.remember(fields) }
        for (record, edit) in done.taken { record.keep(edit) }
        for (database, outcome) in done.outcomes {
            observers.notify(outcome)
            let zones = done.wantedZones.filter { $0.database.scope == database.scope }
                .flatMap(\.zones)
            if !outcome.changedIDs.isEmpty {
                database.notifyDriver(ofZones: zones, hasChanges: true)
            }
        }
        return value
    }

    /// Runs one transaction; see the blocking form.
    public func write<Value: Sendable>(
        _ body: @escaping @Sendable (CacheTransaction) throws -> Value
    ) async throws -> Value {
        try await file.disk.write { [self] in try write(body) }
    }

    /// Reads one consistent snapshot with SQL: the views `records_…` and the app's own tables.
    ///
    /// - Throws: what the body and SQLite throw; SQL that writes is refused.
    public func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try AppRowError.removed {
            try file.read { database in try AppRowError.added { try body(database) } }
        }
    }

    /// Reads with SQL; see the blocking form.
    public func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await file.disk.read { [self] in try read(body) }
    }
}
