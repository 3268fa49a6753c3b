import StratusClient

/// Async forms of the reads and writes, which wait for the disk without blocking a thread of
/// Swift's pool.
///
/// In an async function `try await cache.save(note)` calls the async form; `try cache.save(note)`
/// elsewhere calls the blocking one. Both do the same, and return when the change is durable. A
/// read throws `CancellationError` if its task was cancelled before; a write is still carried out.
extension CloudCache {
    /// Saves records and deletes others in one transaction; see the blocking form.
    public func save(
        _ records: [CKRecord], deleting ids: [CKRecord.ID] = [],
        in scope: CKDatabase.Scope = .private
    ) async throws {
        try await file.disk.write { [self] in try save(records, deleting: ids, in: scope) }
    }

    /// Saves a record; see the blocking form.
    public func save(_ record: CKRecord, in scope: CKDatabase.Scope = .private) async throws {
        try await file.disk.write { [self] in try save([record], in: scope) }
    }

    /// Deletes a record; see the blocking form.
    public func delete(_ id: CKRecord.ID, in scope: CKDatabase.Scope = .private) async throws {
        try await file.disk.write { [self] in try delete(id, in: scope) }
    }

    /// Deletes records; see the blocking form.
    public func delete(_ ids: [CKRecord.ID], in scope: CKDatabase.Scope = .private) async throws {
        try await file.disk.write { [self] in try delete(ids, in: scope) }
    }

    /// A record on this device; see the blocking form.
    public func record(
        for id: CKRecord.ID, in scope: CKDatabase.Scope = .private
    ) async throws -> CKRecord? {
        try await file.disk.read { [self] in try record(for: id, in: scope) }
    }

    /// All records of a zone, or those of one type; see the blocking form.
    public func records(
        ofType type: CKRecord.RecordType? = nil, inZoneWith zoneID: CKRecordZone.ID,
        in scope: CKDatabase.Scope = .private
    ) async throws -> [CKRecord] {
        try await file.disk.read { [self] in
            try records(ofType: type, inZoneWith: zoneID, in: scope)
        }
    }

    // MARK: Zones

    /// The zones on this device; see the blocking form.
    public func zoneIDs(in scope: CKDatabase.Scope = .private) async throws -> [CKRecordZone.ID] {
        try await file.disk.read { [self] in try zoneIDs(in: scope) }
    }

    /// Creates a zone; see the blocking form.
    public func createZone(_ id: CKRecordZone.ID) async throws {
        try await file.disk.write { [self] in try createZone(id) }
    }

    /// Deletes a zone with all its records; see the blocking form.
    public func deleteZone(
        _ id: CKRecordZone.ID, in scope: CKDatabase.Scope = .private
    ) async throws {
        try await file.disk.write { [self] in try deleteZone(id, in: scope) }
    }

    // MARK: Pending changes and reports

    /// The records whose changes the service has not confirmed; see the blocking form.
    public func pendingRecordIDs(
        in scope: CKDatabase.Scope = .private, limit: Int = 1_000
    ) async throws -> [CKRecord.ID] {
        try await file.disk.read { [self] in try pendingRecordIDs(in: scope, limit: limit) }
    }

    /// Changes that the service permanently refused; see the blocking form.
    public func attentionItems() async throws -> [AttentionItem] {
        try await file.disk.read { [self] in try attentionItems() }
    }

    /// Retries changes that were set aside; see the blocking form.
    public func retryAttentionItems(_ items: [AttentionItem]? = nil) async throws {
        try await file.disk.write { [self] in try retryAttentionItems(items) }
    }

    /// Undoes changes that were set aside; see the blocking form.
    public func discardAttentionItems(_ items: [AttentionItem]) async throws {
        try await file.disk.write { [self] in try discardAttentionItems(items) }
    }

    /// The oldest reports that the app has not acknowledged; see the blocking form.
    public func reports(limit: Int = 100) async throws -> [CacheReport] {
        try await file.disk.read { [self] in try reports(limit: limit) }
    }

    /// Removes reports that the app has handled; see the blocking form.
    public func acknowledge(_ reports: [CacheReport]) async throws {
        try await file.disk.write { [self] in try acknowledge(reports) }
    }

    // MARK: Whole zones, sharing, accounts

    /// Deletes all records and zones; see the blocking form.
    public func deleteEverything(in scopes: Set<CKDatabase.Scope> = [.private]) async throws {
        try await file.disk.write { [self] in try deleteEverything(in: scopes) }
    }

    /// Stops syncing a zone; see the blocking form.
    public func detachZone(
        _ id: CKRecordZone.ID, in scope: CKDatabase.Scope = .private
    ) async throws {
        try await file.disk.write { [self] in try detachZone(id, in: scope) }
    }

    /// Resumes syncing a detached zone; see the blocking form.
    public func attachZone(
        _ id: CKRecordZone.ID, in scope: CKDatabase.Scope = .private
    ) async throws {
        try await file.disk.write { [self] in try attachZone(id, in: scope) }
    }

    /// Whether a zone is detached; see the blocking form.
    public func isDetached(
        _ id: CKRecordZone.ID, in scope: CKDatabase.Scope = .private
    ) async throws -> Bool {
        try await file.disk.read { [self] in try isDetached(id, in: scope) }
    }

    /// Leaves a share; see the blocking form.
    public func leaveShare(inZoneWith id: CKRecordZone.ID) async throws {
        try await file.disk.write { [self] in try leaveShare(inZoneWith: id) }
    }

    /// Ends a share; see the blocking form.
    public func stopSharing(_ shareID: CKRecord.ID) async throws {
        try await file.disk.write { [self] in try stopSharing(shareID) }
    }

    /// The changes that the service has not confirmed, with their records; see the blocking form.
    public func unsentChanges() async throws -> [UnsentChange] {
        try await file.disk.read { [self] in try unsentChanges() }
    }

    /// The bytes of all files of assets that are here; see the blocking form.
    public func assetBytes() async throws -> Int64 {
        try await file.disk.read { [self] in try assetBytes() }
    }
}
