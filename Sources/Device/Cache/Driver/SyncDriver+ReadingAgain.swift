import StratusRecords
import StratusSync

/// Reads records again that an earlier process, perhaps of an older app, could not read.
extension SyncDriver {
    /// The largest number of records in one request; fewer if the service refuses so many.
    private static let recordsPerRequest = 200

    /// The next page of a zone, after the records that this process tries to read for the first time. They are requested
    /// before the page, whose changes are newer. A fetch from the beginning contains them: it does not report deletions, so
    /// that a record which was deleted between the two requests would stay.
    func pageAfterRecordsReadAgain(
        of zone: ZoneID, since token: String?
    ) async throws -> ZonePage {
        let again = token == nil ? nil : try await recordsReadAgain(in: zone)
        let next = try await page(try question(zone, token))
        guard var all = again else { return next }
        all.append(next)
        return all
    }

    /// - Returns: nil if there is nothing to read again.
    private func recordsReadAgain(in zone: ZoneID) async throws -> ZonePage? {
        let ids = try store.untriedRecords(in: zone)
        guard !ids.isEmpty else { return nil }
        var found = ZonePage(fetched: [], token: "")
        var missing: [RecordID] = []
        for start in stride(from: 0, to: ids.count, by: Self.recordsPerRequest) {
            let batch = Array(ids[start..<min(start + Self.recordsPerRequest, ids.count)])
            for (id, result) in zip(batch, try await records(batch)) {
                switch result {
                case .success(.some(let record)): found.records.append(.record(record))
                case .success(.none): missing.append(id)
                case .failure(let failure): found.unreadable[id.name] = failure
                }
            }
        }
        try store.forgetUnreadable(missing)
        return found
    }

    /// Fetches records with one request, or in halves if the service refuses so many.
    private func records(
        _ ids: [RecordID]
    ) async throws -> [Result<RecordSnapshot?, SyncFailure>] {
        do {
            return try await remote.records(ids)
        } catch let failure as SyncFailure where failure.code == .limitExceeded && ids.count > 1 {
            // The same records again, in smaller requests.
            let half = ids.count / 2
            let first = try await records(Array(ids.prefix(half)))
            return first + (try await records(Array(ids.dropFirst(half))))
        }
    }
}
