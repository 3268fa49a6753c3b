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
    /// A zone that does not exist yet is created with the next sync, except in the shared database. A record that was
    /// deleted meanwhile stays deleted, unless the resolver decides otherwise, and the app gets
    /// ``CacheEvent/editOfDeletedRecord(client:)``; to create it again, make a new record with the same ID. The file of
    /// a `CKAsset` is copied, and is durable when this returns; a large one takes some time. Sharing needs the service:
    /// a new share, and one whose participants were changed, is saved with its `CKDatabase`, and fetched by the next
    /// sync.
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

    /// All records of a zone, and the names of existing records that the app does not see, because a newer app wrote
    /// them.
    package func recordsAndHiddenNames(
        inZoneWith zoneID: CKRecordZone.ID, in scope: CKDatabase.Scope = .private
    ) async throws -> (records: [CKRecord], hiddenNames: Set<String>) {
        try await file.disk.read { [self] in
            let found = try database(scope).store.recordsAndHiddenNames(
                type: nil, zone: ZoneID(zoneID))
            let records = try found.records.map { file.withFiles(try $0.record()) }
            return (records, found.hiddenNames)
        }
    }

    /// - Throws: ``CacheError`` `newerRecord` if the record exists, but the app does not see it.
    package func refuseIfHidden(
        _ id: CKRecord.ID, in scope: CKDatabase.Scope = .private
    ) async throws {
        try await file.disk.read { [self] in
            try database(scope).store.refuseIfHidden(RecordID(id))
        }
    }

    /// Whether all records of a zone are here, so that one that is missing does not exist at the service: after the zone's
    /// first full fetch, or if the service has no such zone.
    package func hasFetched(
        zone zoneID: CKRecordZone.ID, in scope: CKDatabase.Scope = .private
    ) async throws -> Bool {
        try await file.disk.read { [self] in
            try database(scope).store.hasFetched(ZoneID(zoneID))
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
        database.notifyDriver(ofZones: [zone])
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
        observers.notify(try database.store.deleteZone(zone))
        database.notifyDriver(ofZones: [zone])
    }

    // MARK: Observing

    /// The IDs of a database's records as they change, by the app or the service, from now on.
    public func changes(in scope: CKDatabase.Scope = .private) -> RecordChanges<CKRecord.ID> {
        observers.changes(in: scope) { CKRecord.ID($0) }
    }

    /// What happens while syncing any of the databases, from now on.
    ///
    /// ```swift
    /// for await event in cache.events() {
    ///     if case .halted(let reason) = event { print("sync stopped:", reason) }
    /// }
    /// ```
    public func events() -> AsyncStream<CacheEvent> { observers.events() }

    /// The records whose changes the service has not confirmed, oldest first.
    public func pendingRecordIDs(
        in scope: CKDatabase.Scope = .private, limit: Int = 1_000
    ) throws -> [CKRecord.ID] {
        try database(scope).store.pendingIDs(limit: limit).map { CKRecord.ID($0) }
    }

    // MARK: The steps of a save

    private static func refuseUnsavedShares(_ records: [CKRecord]) throws {
        guard let share = records.first(where: \.isUnsavedShare) else { return }
        throw CacheError(
            .unsavedShare,
            "The share \(share.recordID.recordName) is new or has changed participants, and save(_:) sends neither. Use share(_:) or changeShare(_:in:_:)."
        )
    }

    /// Copies the new files of records, and runs a body before the copies can be removed as orphans.
    ///
    /// - Parameter body: called with the rows of the copies.
    private func keepingAssets(
        of records: [CKRecord], _ body: ([CacheFile.KeptFile]) throws -> Void
    ) throws {
        let wanted = records.flatMap { assetsToKeep(of: $0) }
        guard !wanted.isEmpty else { return try body([]) }
        // Removes copies that were not saved.
        defer { cachedAssets.noteChange() }
        try file.assets.making {
            do {
                try body(wanted.map { try keep($0) })
            } catch {
                // Copies without a row may have been written; the search for orphans finds them.
                cachedAssets.noteOrphans()
                throw error
            }
        }
    }

    /// Copies the file of an asset, unless this cache has it.
    ///
    /// - Returns: the row of the copy.
    private func keep(_ asset: CKAsset) throws -> CacheFile.KeptFile {
        if let kept = try knownFile(of: asset) { return kept }
        guard let url = asset.fileURL else {
            throw CacheError(
                .assetNotHere,
                "The file of an asset of another record is not on this device. Download the asset, then save it in this record."
            )
        }
        let (name, sizeBytes) = try file.assets.take(url)
        // An asset of another record keeps its value, and its file is uploaded again for this one.
        let value =
            asset.knownValue.flatMap { $0.isLocal ? nil : $0 }
            ?? AssetReceipt(fileChecksum: AssetReceipt.localPrefix + name, sizeBytes: sizeBytes)
        asset.keep(file.copy(of: value))
        return CacheFile.KeptFile(
            key: value.fileChecksum ?? "", file: name, sizeBytes: sizeBytes)
    }

    /// The assets of a record whose files must be here: new files, and assets of other records. The
    /// file of an asset that was saved before and is unchanged may have been removed since.
    private func assetsToKeep(of record: CKRecord) -> [CKAsset] {
        let changed = Set(record.changedKeys())
        return record.assetFields.flatMap { key, assets in
            assets.filter { asset in
                !asset.isHeld(by: record.recordID)
                    && (changed.contains(key) || asset.knownValue == nil)
            }
        }
    }

    /// Throws if records have new files, in contexts where files cannot be copied.
    ///
    /// - Parameter sentence: ends the message.
    func refuseNewFiles(of records: [CKRecord], _ sentence: String) throws {
        guard let record = records.first(where: { !assetsToKeep(of: $0).isEmpty }) else { return }
        throw CacheError(
            .unsupportedValue,
            "The record \(record.recordID.recordName) has a new file of an asset. \(sentence)")
    }

    /// The file of an asset in this cache, also by the checksum that the service gave it since.
    private func knownFile(of asset: CKAsset) throws -> CacheFile.KeptFile? {
        guard let key = asset.knownValue?.fileChecksum else { return nil }
        return try file.read { database in
            if let kept = try file.keptFile(key, database) { return kept }
            guard key.hasPrefix(AssetReceipt.localPrefix) else { return nil }
            let name = String(key.dropFirst(AssetReceipt.localPrefix.count))
            let size = try Int64.fetchOne(
                database, sql: "SELECT sizeBytes FROM asset WHERE file = ?", arguments: [name])
            return size.map { CacheFile.KeptFile(key: key, file: name, sizeBytes: $0) }
        }
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
                    "The record \(record.recordID.recordName) has a value that no record can hold. Correct the field that the cause names.",
                    cause: error)
            }
        }
    }

    /// Stores edits, then notifies observers and the driver.
    ///
    /// - Parameter assets: the rows of files that were copied for the edits.
    func save(
        _ edits: [LocalEdit], deleting deletions: [RecordID], in scope: CKDatabase.Scope,
        assets: [CacheFile.KeptFile]
    ) throws {
        let database = try database(scope)
        let (outcome, wantedZones) = try database.store.commit(
            edits: edits, deletions: deletions, assets: assets)
        observers.notify(outcome)
        guard !outcome.changedIDs.isEmpty else { return }
        database.notifyDriver(ofZones: wantedZones, hasChanges: true)
    }
}
