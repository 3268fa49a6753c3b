import Foundation
import StratusWire

extension DatabaseSession {
    typealias FetchedRecord = ItemResult<CKRecord.ID, CKRecord>

    /// Fetches records by identity with one request, then their assets.
    ///
    /// - Parameters:
    ///   - desiredKeys: nil fetches all fields, an empty list only the system's.
    ///   - progress: called with the fraction of a record's assets that was received, below 1.
    func records(
        for recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?,
        progress: @escaping @Sendable (CKRecord, Double) -> Void = { _, _ in }
    ) async throws -> [FetchedRecord] {
        guard !recordIDs.isEmpty else { return [] }
        let items = recordIDs.map {
            RecordsLookup.Item(recordName: $0.recordName, zoneID: $0.zoneID.dictionary)
        }
        let answer = try await sender.send(
            RecordsLookup.self, RecordsLookup.Request(records: items, desiredKeys: desiredKeys))
        try check(answer.records.count, for: recordIDs.count)
        sender.connection.noteFetched(answer.records.count, areChanges: false)
        var reader = reader
        reader.lacksFields = desiredKeys != nil
        let matching = matching
        let results = zip(recordIDs, answer.records).map { recordID, result in
            FetchedRecord(
                recordID,
                Result {
                    try matching.check(result, recordID)
                    return try record(result, recordID, &reader)
                })
        }
        return reader.isIncomplete ? try await complete(results, progress: progress) : results
    }

    /// Completes the records of results; an unavailable asset fails its record.
    func complete(
        _ results: [FetchedRecord],
        progress: @escaping @Sendable (CKRecord, Double) -> Void = { _, _ in }
    ) async throws -> [FetchedRecord] {
        let failures = try await complete(
            results.compactMap(\.result.success), progress: progress)
        guard !failures.isEmpty else { return results }
        return results.map { fetched in
            (fetched.item, failures[fetched.item].map { .failure($0) } ?? fetched.result)
        }
    }

    private func record(
        _ result: RecordResult, _ recordID: CKRecord.ID, _ reader: inout RecordReader
    ) throws -> CKRecord {
        switch result {
        case .record(let dictionary): return try reader.record(dictionary, in: recordID.zoneID)
        case .deleted:
            throw CKError(.unknownItem, "The record \(recordID.recordName) was deleted.")
        case .failure(let failure):
            throw CKError(failure.error, about: .record, uuid: failure.uuid)
        }
    }
}
