import StratusClient
import StratusRecords
import StratusSync

/// Restoring values that a conflict discarded.
extension CloudCache {
    /// Restores the values that a report says were lost, as a new edit of the record, and acknowledges the
    /// report.
    ///
    /// * `editOverruled`: the overruled fields get the values that they had here.
    /// * `remoteEditOverruled`: they get the values that the service had.
    /// * `editOfDeletedRecord`: the record is created again with the edited fields, or gets these
    ///   fields if it has been created again elsewhere.
    /// * `recordsMissing`: the records are created again, except those that exist again already.
    ///
    /// * `fileDamaged`: the unsent changes are queued again. Deletions need the records, so before the first sync of
    ///   the new file the report stays, and must be restored again.
    ///
    /// The new edit is later than the edits that it replaces, so it wins. Calling it again for the same report
    /// changes nothing. Works offline.
    ///
    /// ```swift
    /// for report in try await cache.reports() {
    ///     if case .editOverruled(let mine, _, _) = report.event, wantsToRestore(mine) {
    ///         try cache.restore(report)
    ///     }
    /// }
    /// ```
    ///
    /// - Returns: the records that were edited.
    /// - Throws: ``CacheError`` `nothingToRestore` for a report without values; and as
    ///   `save(_:deleting:in:)`: then nothing is saved, and the report stays.
    @discardableResult
    public func restore(_ report: CacheReport) throws -> [CKRecord.ID] {
        var deletions: [RecordID] = []
        let edits: [LocalEdit]
        switch report.event {
        case .fileDamaged(_, let saves, let deleted, _):
            let store = try database(report.scope).store
            // The service's version is migrated when it is fetched again.
            edits = try saves.map { save in
                let lost = try RecordSnapshot(save)
                let isNew = try lost.system == nil && snapshot(lost.id, in: report.scope) == nil
                return isNew ? store.migrated(lost).newRecord : try save.edit()
            }
            deletions = deleted.map { RecordID($0) }
        case .editOverruled(let client, let server, let keys):
            edits = [try edit(of: client, over: server, keys: keys, in: report.scope)]
        case .remoteEditOverruled(let client, let server, let keys):
            edits = [try edit(of: server, over: client, keys: keys, in: report.scope)]
        // A save creates no share; see `shareAgain(_:)`.
        case .editOfDeletedRecord(let client) where client is CKShare:
            throw CacheError(
                .nothingToRestore,
                "The report \(report.id) is about the share \(client.recordID.recordName). Call share(_:) to"
                    + " share again.")
        case .editOfDeletedRecord(let client):
            edits = [try edit(of: client, over: nil, keys: client.allKeys(), in: report.scope)]
        case .recordsMissing(let records):
            let store = try database(report.scope).store
            edits = try records.compactMap { record in
                let lost = try RecordSnapshot(record)
                // A save creates no share; see `shareAgain(_:)`.
                guard lost.type != CKRecord.SystemType.share,
                    try snapshot(lost.id, in: report.scope) == nil
                else { return nil }
                return store.migrated(lost).newRecord
            }
        default:
            throw CacheError(
                .nothingToRestore,
                "The report \(report.id) has no values to restore. Call acknowledge(_:) with it instead."
            )
        }
        try save(edits, deleting: deletions, in: report.scope)
        // A record that is not here can be deleted after it has been fetched.
        let store = try database(report.scope).store
        let isWaiting = try store.read { database in
            try !deletions.isEmpty && store.flag(.lastFetch, database) == nil
        }
        if !isWaiting { try acknowledge([report]) }
        return edits.map { CKRecord.ID($0.id) }
    }

    /// The edit that restores an overruled record's values. They are migrated to this app's version, because an earlier
    /// version may have stored the report.
    ///
    /// - Parameter kept: what overruled it; nil if nothing did.
    private func edit(
        of record: CKRecord, over kept: CKRecord?, keys: [String], in scope: CKDatabase.Scope
    ) throws -> LocalEdit {
        let store = try database(scope).store
        let lost = try RecordSnapshot(record)
        guard try snapshot(lost.id, in: scope) != nil else {
            return store.migrated(lost).newRecord
        }
        let resolver = store.resolver
        let own = [
            resolver.fieldTimesKey, resolver.editStamps.dateKey, resolver.editStamps.countKey,
            store.versions.declarations[lost.type]?.key,
        ]
        let with = store.migrated(lost)
        var changed = Set(keys)
        if let kept = try kept.map({ try RecordSnapshot($0) }) {
            // Fields that migrating the overruled values changes belong to the edit too.
            var without = lost
            for key in keys { without.replace(key, from: kept) }
            without = store.migrated(without)
            changed.formUnion(
                (with.fields + without.fields).map(\.name)
                    .filter { with.field($0) != without.field($0) })
        } else {
            changed = Set(with.fields.map(\.name))
        }
        return LocalEdit(
            id: lost.id, type: lost.type,
            changes: changed.subtracting(own.compactMap(\.self)).sorted()
                .map { with.field($0) ?? Field(name: $0, value: nil) })
    }
}

extension RecordSnapshot {
    /// An edit that creates this record again.
    fileprivate var newRecord: LocalEdit {
        LocalEdit(
            id: id, type: type, changes: [], initial: fields, initialParent: parentRecordName)
    }
}
