import StratusClient
import StratusRecords
import StratusSync

/// Reading and writing records, online or offline.
extension CloudCache {
    /// Saves records and deletes others in one transaction, and returns once it is on disk.
    ///
    /// Only fields that were set on a record since it was read or created are written, over the
    /// newest row, so that an edit never reverts what a sync fetched meanwhile. Afterwards the
    /// records have no unsaved changes: the next save of the same object writes only what is set
    /// from then on.
    ///
    /// A zone that does not exist yet is created with the next sync, except in the shared database.
    /// A record that was deleted meanwhile stays deleted, unless the resolver decides otherwise,
    /// and the app gets ``CacheEvent/editOfDeletedRecord(client:)``; to create it again, make a new
    /// record with the same ID. The file of a `CKAsset` is copied, and is durable when this
    /// returns; a large one takes some time. Sharing needs the service: a new share, and one whose
    /// people were changed, is saved with its `CKDatabase`, and comes here with the next sync.
    /// - Throws: ``CacheError`` `unsupportedValue`, `unsavedShare`, `invalidZone`, `assetUnreadable`,
    ///   `assetNotHere` or `storageFull`, or SQLite's error; then nothing is saved.
    public func save(
        _ records: [CKRecord], deleting ids: [CKRecord.ID] = [],
        in scope: CKDatabase.Scope = .private
    ) throws {
        // Checked before any file is copied.
        try Self.refuseUnsavedShares(records)
        var taken: [(record: CKRecord, edit: LocalEdit)] = []
        try keepingAssets(of: records) { assets in
            taken = try Self.edits(of: records)
            try save(
                taken.map(\.edit), deleting: ids.map { RecordID($0) }, in: scope, assets: assets)
        }
        for (record, edit) in taken { record.keep(edit) }
    }

    private static func refuseUnsavedShares(_ records: [CKRecord]) throws {
        guard records.contains(where: \.isUnsavedShare) else { return }
        throw CacheError(
            .unsavedShare,
            "The cache saves no new shares and no changed participants. Save the share with its CKDatabase."
        )
    }

    /// The changes of records since they were read or created.
    static func edits(of records: [CKRecord]) throws -> [(record: CKRecord, edit: LocalEdit)] {
        try refuseUnsavedShares(records)
        return try records.map { record in
            do {
                return (record, try record.edit())
            } catch {
                throw CacheError(
                    .unsupportedValue,
                    "A field has a value that no record can hold. Give it one that a record can hold.",
                    cause: error)
            }
        }
    }

    /// Saves a record; see `save(_:deleting:in:)`.
    public func save(_ record: CKRecord, in scope: CKDatabase.Scope = .private) throws {
        try save([record], in: scope)
    }

    /// Deletes a record, here at once and on the service with the next sync. Does nothing if the
    /// record is not here.
    public func delete(_ id: CKRecord.ID, in scope: CKDatabase.Scope = .private) throws {
        try save([], deleting: [id], in: scope)
    }

    /// Deletes records; see `delete(_:in:)`.
    public func delete(_ ids: [CKRecord.ID], in scope: CKDatabase.Scope = .private) throws {
        try save([], deleting: ids, in: scope)
    }

    /// A record on this device, with local edits; nil when it is not here. A share is a `CKShare`
    /// with its participants as of the last sync.
    public func record(
        for id: CKRecord.ID, in scope: CKDatabase.Scope = .private
    ) throws -> CKRecord? {
        try database(scope).store.record(RecordID(id)).map { file.withFiles(try $0.record()) }
    }

    /// All records of a zone, or those of one type, in the order of their names.
    public func records(
        ofType type: CKRecord.RecordType? = nil, inZoneWith zoneID: CKRecordZone.ID,
        in scope: CKDatabase.Scope = .private
    ) throws -> [CKRecord] {
        try database(scope).store.records(type: type, zone: ZoneID(zoneID)).map {
            file.withFiles(try $0.record())
        }
    }

    // MARK: Zones

    /// The zones on this device, in the order in which it learned of them.
    public func zoneIDs(in scope: CKDatabase.Scope = .private) throws -> [CKRecordZone.ID] {
        try database(scope).store.zones().map { CKRecordZone.ID($0) }
    }

    /// Creates a zone, here at once and on the service with the next sync. Saving a record creates
    /// its zone too.
    ///
    /// Zones of the shared database are created by their owners.
    ///
    /// - Throws: SQLite's error, or ``CacheError`` `invalidDatabase`.
    public func createZone(_ id: CKRecordZone.ID) throws {
        let zone = ZoneID(id)
        let database = try database(.private)
        guard try database.store.wantZone(zone) else { return }
        database.tellDriver(ofZones: [zone])
    }

    /// Deletes a zone with all its records, here at once and on the service with the next sync. In the
    /// shared database it leaves the share.
    ///
    /// - Throws: ``CacheError`` `invalidZone` for the default zone, or SQLite's error.
    public func deleteZone(
        _ id: CKRecordZone.ID, in scope: CKDatabase.Scope = .private
    ) throws {
        let zone = ZoneID(id)
        let database = try database(scope)
        observers.tell(try database.store.unwantZone(zone))
        database.tellDriver(ofZones: [zone])
    }

    // MARK: Looking

    /// The IDs of a database's records as they change, by the app or the service, from now on.
    public func changes(in scope: CKDatabase.Scope = .private) -> RecordChanges<CKRecord.ID> {
        observers.changes(in: scope) { CKRecord.ID($0) }
    }

    /// What happens while syncing any of the databases, from now on.
    public func events() -> AsyncStream<CacheEvent> { observers.events() }

    /// The records whose changes the service has not confirmed, oldest first.
    public func pendingRecordIDs(
        in scope: CKDatabase.Scope = .private, limit: Int = 1_000
    ) throws -> [CKRecord.ID] {
        try database(scope).store.pendingIDs(limit: limit).map { CKRecord.ID($0) }
    }
}
