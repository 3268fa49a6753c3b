import Foundation
import StratusWire

extension DatabaseSession {
    typealias FetchedRecord = (recordID: CKRecord.ID, result: Result<CKRecord, any Error>)

    /// Fetches records by identity with one request.
    ///
    /// - Parameter desiredKeys: nil is all fields, empty is none but the system's.
    func records(
        for recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]?
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
        return zip(recordIDs, answer.records).map { recordID, result in
            (recordID, Result { try record(result, recordID, &reader) })
        }
    }

    private func record(
        _ result: RecordResult, _ recordID: CKRecord.ID, _ reader: inout RecordReader
    ) throws -> CKRecord {
        switch result {
        case .record(let dictionary): return try reader.record(dictionary, in: recordID.zoneID)
        case .deleted: throw CKError(.unknownItem, "The record was deleted.")
        case .failure(let failure):
            throw CKError(failure.error, about: .record, uuid: failure.uuid)
        }
    }
}
