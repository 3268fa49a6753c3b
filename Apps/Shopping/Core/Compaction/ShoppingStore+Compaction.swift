import StratusCache

#if canImport(Darwin)
    import Foundation
    import StratusClient
#else
    import CloudKit
#endif

/// Keeps the journal in the cloud short: entries that are not needed to rebuild a list are deleted there.
///
/// The cache sends its own changes one by one, so a step of a compaction goes directly to the database, as one atomic
/// request with the root record; its changes arrive with the next fetch, here as on any other device.
extension ShoppingStore {
    /// Compacts a list in the cloud as far as its old entries are not needed, in as many steps as it takes.
    ///
    /// Each step is one atomic request with the root record, saved only if it was not changed meanwhile. An entry
    /// counts as old when it was made and reached the service before the cutoff, so every device that is not offline
    /// for longer has seen it.
    ///
    /// - Returns: how many entries were deleted.
    /// - Throws: the service's error, after which earlier steps stay done and later ones are done another time;
    ///   ``UnknownList``.
    @discardableResult
    public func compact(_ listID: ListID) async throws -> Int {
        guard var journal = listsByID[listID]?.journal else { throw UnknownList(listID: listID) }
        let cutoff = clock() - ShoppingLimits.compactedAgeMilliseconds
        let arrivals = try arrivals(listID, before: cutoff)
        let database = container.database(with: listID.scope)
        var root: CKRecord?
        var count = 0
        var isComplete = false
        while !isComplete {
            let step = Compaction(
                of: journal, before: cutoff, atMost: ShoppingLimits.compactedEntriesPerStep
            ) { arrivals[$0.id] ?? .max }
            guard !step.dropped.isEmpty else { break }
            isComplete = step.isComplete
            let newest = step.dropped.compactMap { arrivals[$0.id] }.max() ?? cutoff
            // The device that changed the root may have compacted: its changes are fetched first.
            if root == nil { root = try await unchangedRoot(listID) }
            guard let current = root else { break }
            root = try await deleteCompacted(
                step.dropped, with: current, until: isComplete ? cutoff : newest, in: database)
            journal.remove(ids: Set(step.dropped.map(\.id)))
            count += step.dropped.count
        }
        if count > 0 { await cache.fetchSoon(listID.zoneID, in: listID.scope) }
        return count
    }

    /// When each entry of a list reached the service; entries that are not there are missing.
    ///
    /// The time never changes, so each record is read once, and entries that are too new to be removed are not read.
    private func arrivals(_ listID: ListID, before cutoffMilliseconds: Int64) throws -> [String:
        Int64]
    {
        guard let known = listsByID[listID] else { return [:] }
        let asked = known.journal.history.prefix { $0.editTimeMilliseconds < cutoffMilliseconds }
            .filter { known.arrivals[$0.id] == nil }
        let ids = asked.map { CKRecord.ID(recordName: $0.id, zoneID: listID.zoneID) }
        for record in try records(ids, of: listID) {
            guard let created = record.creationDate else { continue }
            listsByID[listID]?.arrivals[record.recordID.recordName] =
                Int64(created.timeIntervalSince1970 * 1_000)
        }
        return listsByID[listID]?.arrivals ?? [:]
    }

    /// The service's root record; nil if it differs from the one that this device knows.
    private func unchangedRoot(_ listID: ListID) async throws -> CKRecord? {
        let rootID = listID.rootID
        let root = try await container.database(with: listID.scope).record(for: rootID)
        let known = try await cache.record(for: rootID, in: listID.scope)
        return root.recordChangeTag == known?.recordChangeTag ? root : nil
    }

    /// Takes one step: deletes the entries and updates `CompressedUntil`, or does nothing.
    ///
    /// - Returns: the root record after the step.
    /// - Throws: `CKError` `serverRecordChanged` when the root was changed meanwhile.
    package func deleteCompacted(
        _ entries: [JournalEntry], with root: CKRecord, until milliseconds: Int64,
        in database: CKDatabase
    ) async throws -> CKRecord {
        let date = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
        let known = root[ShoppingRecord.compressedUntilField] as Date?
        root[ShoppingRecord.compressedUntilField] = max(date, known ?? date)
        let zoneID = root.recordID.zoneID
        let results = try await database.modifyRecords(
            saving: [root],
            deleting: entries.map { CKRecord.ID(recordName: $0.id, zoneID: zoneID) },
            savePolicy: .ifServerRecordUnchanged, atomically: true)
        // The root's result first: it is the record of the atomic request that other devices change.
        let saved = try results.saveResults[root.recordID]?.get()
        for result in results.deleteResults.values { try result.get() }
        return saved ?? root
    }

    /// Compacts the lists that are due; called after something was sent.
    ///
    /// - Returns: how many entries were deleted.
    @discardableResult
    func compactWhereDue() async -> Int {
        var count = 0
        for listID in listsByID.keys.sorted(by: { $0.description < $1.description }) {
            do {
                guard try takeTurn(listID) else { continue }
                count += try await compact(listID)
            } catch {
                // The list is not affected: another device compacts it, or this device tries again
                // later.
                continue
            }
        }
        return count
    }

    /// Whether the last compaction of a list on this device is long enough ago; if so, notes this one.
    private func takeTurn(_ listID: ListID) throws -> Bool {
        let name = "compacted \(listID)"
        let now = clock()
        if let last = try activity.note(name).flatMap({ Int64($0) }),
            (0..<ShoppingLimits.compactionIntervalMilliseconds).contains(now - last)
        {
            return false
        }
        try activity.setNote(name, String(now))
        return true
    }

    /// Fetches everything again if this device was offline for so long that the journal was compacted meanwhile.
    func refetchIfLongAway() async throws {
        guard let last = try await cache.status().lastFetchMilliseconds,
            clock() - last > ShoppingLimits.compactedAgeMilliseconds
        else { return }
        try await cache.refetchEverything()
    }

    /// Whether a record is missing at the service because it was compacted there.
    func isCompacted(_ record: CKRecord) -> Bool {
        // Without its root record the list is deleted or cannot be read; then the record does not
        // count as compacted, and its error is shown.
        guard let entry = JournalEntry(record),
            let listID = ListID(record.recordID.zoneID),
            let root = try? cache.record(for: listID.rootID, in: listID.scope),
            let until = root[ShoppingRecord.compressedUntilField] as Date?
        else { return false }
        let made = Date(timeIntervalSince1970: Double(entry.editTimeMilliseconds) / 1_000)
        return max(made, record.creationDate ?? made) <= until
    }
}
