import StratusClient
import StratusRecords
import StratusSync

/// What an app reads and writes, online or not.
extension RecordCache {
    /// Saves records and deletes others in one transaction, and returns once it is on disk.
    ///
    /// Only what was set on a record since it was read or made is written, over the newest row, so an
    /// edit never takes back what a sync brought meanwhile. Read a record again before its next edit.
    /// A zone that does not exist yet is made with the next sync.
    /// Sharing needs the service: a new share, and one whose people were changed, is saved with its
    /// `CKDatabase`, and comes here with the next sync.
    /// - Throws: ``CacheError`` `unsupportedValue` or `unsavedShare`, or SQLite's error; then nothing
    ///   is saved.
    public func save(_ records: [CKRecord], deleting ids: [CKRecord.ID] = []) throws {
        let edits = try records.map { record in
            guard !record.isUnsavedShare else {
                throw CacheError(
                    .unsavedShare, "Save new shares, and changed participants, with the database.")
            }
            do {
                return LocalEdit(
                    id: RecordID(record.recordID), type: record.recordType,
                    changes: try record.changedFields(), initial: try record.content().fields,
                    parent: record.isParentChanged
                        ? .set(record.parent?.recordID.recordName) : .unchanged)
            } catch {
                throw CacheError(
                    .unsupportedValue, "Give the record's fields values that a record can hold.",
                    cause: error)
            }
        }
        try save(edits, deleting: ids.map { RecordID($0) })
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
    public func createZone(_ id: CKRecordZone.ID) throws {
        let zone = ZoneID(id)
        guard try store.wantZone(zone) else { return }
        tellDriver { session, _ in session.zoneWanted(zone) }
    }

    /// Deletes a zone with all its records, here at once and on the service with the next sync.
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
        try store.retrySetAside(ids?.map { RecordID($0) })
        tellDriver { session, now in session.localChange(at: now) }
    }
}
