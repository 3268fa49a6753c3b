import StratusClient
import StratusRecords
import StratusSync

/// What an app reads and writes, online or not.
extension RecordCache {
    /// Saves records and deletes others in one transaction, and returns once it is on disk.
    ///
    /// Only what was set on a record since it was read or made is written, over the newest row, so an
    /// edit never takes back what a sync brought meanwhile. Afterwards the records have no changes:
    /// the next save of the same object writes only what is set from now on.
    ///
    /// A zone that does not exist yet is made with the next sync, except in the shared database. A
    /// record that was deleted meanwhile stays deleted, unless the resolver says otherwise, and the
    /// app is told with ``CacheEvent/editOfDeletedRecord(client:)``; to have it again, make a new
    /// record of the same identity. The cache holds no files: a `CKAsset` is refused.
    /// Sharing needs the service: a new share, and one whose people were changed, is saved with its
    /// `CKDatabase`, and comes here with the next sync.
    /// - Throws: ``CacheError`` `unsupportedValue`, `unsavedShare` or `invalidZone`, or SQLite's error;
    ///   then nothing
    ///   is saved.
    public func save(_ records: [CKRecord], deleting ids: [CKRecord.ID] = []) throws {
        var taken: [(record: CKRecord, edit: LocalEdit)] = []
        let edits = try records.map { record in
            guard !record.isUnsavedShare else {
                throw CacheError(
                    .unsavedShare, "Save new shares, and changed participants, with the database.")
            }
            do {
                let edit = try record.edit()
                taken.append((record, edit))
                return edit
            } catch {
                throw CacheError(
                    .unsupportedValue, "Give the record's fields values that a record can hold.",
                    cause: error)
            }
        }
        try save(edits, deleting: ids.map { RecordID($0) })
        for (record, edit) in taken { record.keep(edit) }
    }

    /// Saves a record; see ``save(_:deleting:)``.
    public func save(_ record: CKRecord) throws { try save([record]) }

    /// Deletes a record, here at once and on the service with the next sync. One that is not here is
    /// left alone.
    public func delete(_ id: CKRecord.ID) throws { try save([], deleting: [id]) }

    /// Deletes records; see ``delete(_:)-(CKRecord.ID)``.
    public func delete(_ ids: [CKRecord.ID]) throws { try save([], deleting: ids) }

    /// A record as it is here, local edits included; nil when it is not here. A share is a `CKShare`
    /// with its people as of the last sync.
    public func record(for id: CKRecord.ID) throws -> CKRecord? {
        try store.record(RecordID(id))?.record()
    }

    /// All records of a zone, or those of one type, in the order of their names.
    public func records(
        ofType type: CKRecord.RecordType? = nil, inZoneWith zoneID: CKRecordZone.ID
    ) throws -> [CKRecord] {
        try store.records(type: type, zone: ZoneID(zoneID)).map { try $0.record() }
    }

    // MARK: Zones

    /// The zones on this device, in the order in which it learned of them.
    public func zoneIDs() throws -> [CKRecordZone.ID] {
        try store.zones().map { CKRecordZone.ID($0) }
    }

    /// Makes a zone, here at once and on the service with the next sync. Saving a record does so too.
    ///
    /// - Throws: ``CacheError`` `invalidZone` in the shared database, or SQLite's error.
    public func createZone(_ id: CKRecordZone.ID) throws {
        let zone = ZoneID(id)
        guard try store.wantZone(zone) else { return }
        tellDriver { session, _ in session.zoneWanted(zone) }
    }

    /// Deletes a zone with all its records, here at once and on the service with the next sync.
    ///
    /// - Throws: ``CacheError`` `invalidZone` for the default zone, or SQLite's error.
    public func deleteZone(_ id: CKRecordZone.ID) throws {
        let zone = ZoneID(id)
        observers.tell(try store.unwantZone(zone))
        tellDriver { session, _ in session.zoneUnwanted(zone) }
    }

    // MARK: Looking

    /// The identities of records as they change, by the app or by the service, from now on.
    public func changes() -> RecordChanges<CKRecord.ID> {
        observers.changes { CKRecord.ID($0) }
    }

    /// What happens while syncing, from now on.
    public func events() -> AsyncStream<CacheEvent> { observers.events() }

    /// The records whose changes the service has not confirmed, oldest first.
    public func pendingRecordIDs(limit: Int = 1_000) throws -> [CKRecord.ID] {
        try store.pendingIDs(limit: limit).map { CKRecord.ID($0) }
    }

    /// Changes that the service refused for good, oldest first.
    public func attentionItems() throws -> [AttentionItem] { try store.attentionItems() }

    /// Gives changes that were set aside another chance; all of them when no record is named.
    public func retryAttentionItems(_ ids: [CKRecord.ID]? = nil) throws {
        let zones = try store.retrySetAside(ids?.map { RecordID($0) })
        tellDriver { session, now in
            for zone in zones { session.zoneWanted(zone) }
            session.localChange(at: now)
        }
    }
}
