import StratusCache

#if canImport(Darwin)
    import Foundation
    import StratusClient
#else
    import CloudKit
#endif

/// The journal in the cloud stays short: what nobody needs to rebuild a list is deleted there.
///
/// The cache's own changes are sent one by one, so a step of a compaction goes to the database itself, as one atomic
/// request with the root record; what it did comes back with the next fetch, here as on any other device.
extension ShoppingStore {
    /// Compacts a list in the cloud as far as its old entries are not needed, in as many steps as it takes.
    ///
    /// Each step is one atomic request with the root record, saved only when nobody changed it meanwhile. An
    /// entry counts as old when it was made and came to the service before the cutoff, so every device that is not
    /// away for longer has seen it.
    ///
    /// - Returns: how many entries were deleted.
    /// - Throws: what the service answers: the steps before stay done, and the rest is done another time; ``UnknownList``.
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
            // Whoever changed the root may have compacted: their changes are fetched first.
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

    /// When each entry of a list came to the service; entries that are not there are missing.
    ///
    /// It never changes, so each record is read once, and what is too young to go in any case is not read at all.
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

    /// The service's root record; nil where it is not the one that this device knows.
    private func unchangedRoot(_ listID: ListID) async throws -> CKRecord? {
        let rootID = listID.rootID
        let root = try await container.database(with: listID.scope).record(for: rootID)
        let known = try await cache.record(for: rootID, in: listID.scope)
        return root.recordChangeTag == known?.recordChangeTag ? root : nil
    }

    /// One step: the entries go and `CompressedUntil` moves, or nothing happens.
    ///
    /// - Returns: the root record as it is now.
    /// - Throws: `CKError` `serverRecordChanged` when somebody changed the root meanwhile.
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
        // The root first: of an atomic request, it is what others change.
        let saved = try results.saveResults[root.recordID]?.get()
        for result in results.deleteResults.values { try result.get() }
        return saved ?? root
    }

    /// Compacts the lists whose turn it is; called when something was sent.
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

    /// Whether the last compaction of a list on this device is long enough ago; if so, this one counts as made.
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

    /// A device that was away for so long that the journal was compacted meanwhile fetches everything again.
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
