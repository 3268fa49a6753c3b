import StratusRecords
import StratusSync

/// Reads records again that an earlier process, perhaps of an older app, could not read.
extension SyncDriver {
    /// The largest number of records in one request; fewer if the service refuses so many.
    private static let recordsPerRequest = 200

    /// The next page of a zone, after the records that this process tries to read for the first time. They are requested
    /// before the page, whose changes are newer. A fetch from the beginning contains them: it does not report deletions, so
    /// that a record which was deleted between the two requests would stay.
    ///
    /// - Returns: also whether there are more such records than one request may name; they come before the next pages.
    func pageAfterRecordsReadAgain(
        of zone: ZoneID, since token: String?
    ) async throws -> (page: ZonePage, hasMoreToReadAgain: Bool) {
        let ids = token == nil ? [] : try store.untriedRecords(in: zone)
        let again = try await recordsReadAgain(Array(ids.prefix(Self.recordsPerRequest)))
        let next = try await page(try question(zone, token))
        guard var all = again else { return (next, false) }
        all.append(next)
        return (all, ids.count > Self.recordsPerRequest)
    }

    /// - Returns: nil if there is nothing to read again.
    /// - Throws: also a refusal of a single record that may pass, such as that of a busy zone: the record is requested
    ///   again after a pause, and does not count as tried.
    private func recordsReadAgain(_ ids: [RecordID]) async throws -> ZonePage? {
        guard !ids.isEmpty else { return nil }
        var found = ZonePage(fetched: [], token: "")
        var missing: [RecordID] = []
        for (id, result) in zip(ids, try await remote.recordsInHalves(ids)) {
            switch result {
            case .success(.some(let record)): found.records.append(.record(record))
            case .success(.none): missing.append(id)
            case .failure(let failure):
                switch RecoveryAction.forRequest(failure.code) {
                case .awaitNetwork, .slowDown: throw failure
                default: found.unreadable[id.name] = failure
                }
            }
        }
        try store.forgetUnreadable(missing)
        return found
    }
}
