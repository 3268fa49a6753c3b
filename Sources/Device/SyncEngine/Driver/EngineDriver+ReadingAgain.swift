import StratusClient
import StratusRecords
import StratusSync

/// Reads records again that an earlier engine, perhaps of an older app, could not read.
extension EngineDriver {
    /// The largest number of records in one request; fewer if the service refuses so many.
    private static let recordsPerRequest = 200

    /// Requests the records of a zone that an earlier engine could not read, and that this one has not tried to read. A
    /// fetch from the beginning contains them: it does not report deletions, so that a record which was deleted between
    /// the two requests would stay.
    ///
    /// - Throws: also a refusal of a single record that may pass, such as that of a busy zone: the record is requested
    ///   again, and does not count as tried.
    func recordsReadAgain(
        in zone: ZoneID, group: CKOperationGroup?
    ) async throws -> RecordsReadAgain {
        var again = RecordsReadAgain()
        if state.ledger.zoneTokens[zone] == nil { return again }
        let names = state.ledger.unreadable[zone] ?? []
        let ids = names.sorted().map { RecordID(name: $0, zoneID: zone) }
            .filter { !unreadable.tried.contains($0) }
        for start in stride(from: 0, to: ids.count, by: Self.recordsPerRequest) {
            let batch = ids[start..<min(start + Self.recordsPerRequest, ids.count)]
                .map { CKRecord.ID($0) }
            let results = try await ask(group: group) { try await $0.recordsInHalves(for: batch) }
            for id in batch {
                switch results[id] {
                case nil: continue
                case .success(let record): again.modifications.append(.init(record: record))
                case .failure(let error):
                    let error = CKError(error)
                    if error.mayPass { throw error }
                    if error.code == .unknownItem || error.code == .zoneNotFound {
                        again.missingNames.append(id.recordName)
                    } else {
                        again.unreadable[id] = error
                    }
                }
            }
        }
        return again
    }

    /// Notes the records of a page that cannot be read, and forgets those that it has and those that are gone.
    func noteUnreadable(
        _ page: CKDatabase.OrderedZoneChanges, missingNames: [String], _ zone: ZoneID
    ) {
        unreadable.tried.formUnion(page.unreadable.keys.map { RecordID($0) })
        var errors = unreadable.errors[zone] ?? [:]
        if !errors.isEmpty {
            for modification in page.modifications { errors[modification.record.recordID] = nil }
            for deletion in page.deletions { errors[deletion.recordID] = nil }
        }
        errors.merge(page.unreadable) { $1 }
        unreadable.errors[zone] = errors.isEmpty ? nil : errors
        let names = page.unreadable.keys.map(\.recordName)
        let others =
            page.modifications.map(\.record.recordID.recordName)
            + page.deletions.map(\.recordID.recordName) + missingNames
        state.update { $0.noteUnreadable(names, besides: others, in: zone) }
    }
}
