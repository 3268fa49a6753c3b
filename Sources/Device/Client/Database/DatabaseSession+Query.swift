import Foundation
import StratusRecords
import StratusRuntime
import StratusWire

/// One page of a query's matches.
struct QueryPage: Sendable {
    var matches: [DatabaseSession.FetchedRecord] = []
    var cursor: CKQueryOperation.Cursor?
}

extension DatabaseSession {
    /// Fetches one page of a query with one request.
    ///
    /// - Parameter resultsLimit: 0 lets the service decide.
    /// - Throws: `CKError.invalidArguments` for a predicate that the service cannot answer.
    func records(
        matching search: QuerySearch, resultsLimit: Int, desiredKeys: [CKRecord.FieldKey]?
    ) async throws -> QueryPage {
        let now = search.now ?? sender.connection.world.now
        let translation = QueryTranslation(now: now)
        guard let query = try translation.query(search.query) else { return QueryPage() }
        if sender.scope == .shared, search.zoneID == nil {
            throw CKError(
                .invalidArguments,
                "The query of \(search.query.recordType) in the shared database names no zone; name one."
            )
        }
        let request = RecordsQuery.Request(
            query: query, zoneID: search.zoneID?.dictionary,
            isZoneWide: search.zoneID == nil && sender.scope == .private,
            resultsLimit: resultsLimit > 0 ? resultsLimit : nil,
            continuationMarker: search.marker, desiredKeys: desiredKeys)
        let answer = try await sender.send(RecordsQuery.self, request)
        sender.connection.noteFetched(answer.records.count, areChanges: false)
        var page = QueryPage()
        var reader = reader
        reader.lacksFields = desiredKeys != nil
        let matching = matching
        let zoneID = search.zoneID ?? .default
        for result in answer.records {
            switch result {
            case .record(let dictionary):
                let record: CKRecord
                do {
                    record = try reader.record(dictionary, in: zoneID)
                } catch {
                    // Fails only this record. Without a name the error belongs to no record.
                    guard let name = dictionary.recordName else { throw error }
                    let zone = dictionary.zoneID.map { reader.zoneID($0) } ?? zoneID
                    page.matches.append((CKRecordID(known: name, zoneID: zone), .failure(error)))
                    continue
                }
                page.matches.append(
                    (
                        record.recordID,
                        Result {
                            if let asked = search.zoneID {
                                try matching.check(dictionary.zoneID, asked)
                            }
                            try AnswerMatching.check(dictionary.recordType, query.recordType)
                            return record
                        }
                    ))
            case .deleted: continue
            case .failure(let failure):
                let error = CKError(failure.error, about: .record, uuid: failure.uuid)
                // Without a name the error belongs to no item, so it fails the request.
                guard let name = failure.recordName else { throw error }
                let zone = failure.zoneID.map { reader.zoneID($0) } ?? zoneID
                page.matches.append((CKRecordID(known: name, zoneID: zone), .failure(error)))
            }
        }
        if reader.isIncomplete { page.matches = try await complete(page.matches) }
        page.cursor = answer.continuationMarker.map { marker in
            CKQueryCursor(
                QuerySearch(
                    query: search.query, zoneID: search.zoneID, marker: marker, now: now))
        }
        return page
    }
}
