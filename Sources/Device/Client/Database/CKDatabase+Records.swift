import Foundation
import StratusRuntime
import StratusWire

extension CKDatabase {
    // MARK: One record

    /// - Throws: the record's own error, such as `CKError.unknownItem`.
    public func record(for recordID: CKRecord.ID) async throws -> CKRecord {
        try await session.records(for: [recordID], desiredKeys: nil).only().result.get()
    }

    /// Saves a record if it has not been changed elsewhere since it was fetched.
    ///
    /// - Returns: the same record, brought up to date.
    /// - Throws: the record's own error, such as `CKError.serverRecordChanged`.
    @discardableResult
    public func save(_ record: CKRecord) async throws -> CKRecord {
        try await modify([record], []).saves.only().result
            .get()
    }

    /// Deletes a record, regardless of its change tag; deleting one that does not exist succeeds.
    ///
    /// - Returns: the given ID.
    /// - Throws: the record's own error, such as `CKError.zoneNotFound` or `referenceViolation`.
    @discardableResult
    public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
        try await modify([], [recordID]).deletions.only()
            .result.get()
        return recordID
    }

    // MARK: Many records

    /// Fetches records; the errors of single records are in their own results.
    ///
    /// - Parameter desiredKeys: nil is all fields, empty is none but the system's.
    /// - Parameter recordIDs: the records to fetch.
    public func records(
        for recordIDs: [CKRecord.ID], desiredKeys: [CKRecord.FieldKey]? = nil
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
        byItem(try await session.records(for: recordIDs, desiredKeys: desiredKeys))
    }

    /// Fetches records with one request, or in halves if the service refuses so many.
    package func recordsInHalves(
        for recordIDs: [CKRecord.ID]
    ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
        do {
            return try await records(for: recordIDs)
        } catch let error as CKError where error.contains(.limitExceeded) && recordIDs.count > 1 {
            // The same records again, in smaller requests.
            let half = recordIDs.count / 2
            let first = try await recordsInHalves(for: Array(recordIDs.prefix(half)))
            let second = try await recordsInHalves(for: Array(recordIDs.dropFirst(half)))
            return first.merging(second) { $1 }
        }
    }

    /// The result of each record that was to be saved or deleted, by ID.
    public typealias RecordModifications = (
        saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
        deleteResults: [CKRecord.ID: Result<Void, any Error>]
    )

    /// Saves and deletes records with one request.
    ///
    /// Throws only when the request fails as a whole. Apple documents that an atomic batch throws
    /// when any change fails; in practice, and here, results are returned: the failed record's own
    /// error, and `CKError.batchRequestFailed` for the others in its zone.
    @discardableResult
    public func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged,
        atomically: Bool = true
    ) async throws -> RecordModifications {
        try await modifyRecords(
            saving: recordsToSave, deleting: recordIDsToDelete, deletionTags: [:],
            savePolicy: savePolicy, atomically: atomically
        ).results
    }

    /// Saves and deletes records, where a deletion can require a change tag: if the record has
    /// another one, the deletion fails with `serverRecordChanged` and the server's record.
    ///
    /// - Parameters:
    ///   - deletionTags: the required tags; other records are deleted unconditionally.
    ///   - replacedIDs: records whose fields are all sent, so that the service has no others.
    ///   - operationID: names the request, for ``cancelOperations(_:of:inZonesOf:)``.
    /// - Returns: also the change tags of the deletions, if the service sends them.
    package func modifyRecords(
        saving recordsToSave: [CKRecord], deleting recordIDsToDelete: [CKRecord.ID],
        deletionTags: [CKRecord.ID: String], replacing replacedIDs: Set<CKRecord.ID> = [],
        savePolicy: CKModifyRecordsOperation.RecordSavePolicy, atomically: Bool,
        operationID: String? = nil
    ) async throws -> (results: RecordModifications, tombstoneTags: [CKRecord.ID: String]) {
        let outcome = try await session.modifyRecords(
            saving: recordsToSave, deleting: recordIDsToDelete, deletionTags: deletionTags,
            replacing: replacedIDs, policy: savePolicy, isAtomic: atomically,
            operationID: operationID ?? core.connection.world.makeUUID().uuidString)
        return (outcome.resultsByItem, outcome.tombstoneTags)
    }

    private func modify(
        _ records: [CKRecord], _ recordIDs: [CKRecord.ID]
    ) async throws -> RecordsModification {
        try await session.modifyRecords(
            saving: records, deleting: recordIDs, policy: .ifServerRecordUnchanged,
            isAtomic: true, operationID: core.connection.world.makeUUID().uuidString)
    }

    /// Cancels requests that were not answered, so that they have no effect if they still arrive. Requests that were
    /// carried out are not undone.
    ///
    /// - Parameters:
    ///   - operationIDs: the identifiers of requests to modify records or zones.
    ///   - deviceID: the ``CloudConnection/deviceID`` with which they were sent, perhaps another process's.
    ///   - owners: in the shared database, the owners of the zones that they named.
    package func cancelOperations(
        _ operationIDs: [String], of deviceID: String, inZonesOf owners: [String]
    ) async throws {
        var sender = session.sender
        sender.target.deviceID = deviceID
        _ = try await sender.send(
            OperationsCancel.self,
            OperationsCancel.Request(
                operationIDs: operationIDs, ownerRecordNames: owners.isEmpty ? nil : owners))
    }

    // MARK: Queries

    /// One page of a query's matches, in the query's order; the cursor is nil after the last page.
    public typealias QueryMatches = (
        matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)],
        queryCursor: CKQueryOperation.Cursor?
    )

    /// Runs a query.
    ///
    /// - Parameter zoneID: nil is all zones; the shared database needs one.
    /// - Parameter desiredKeys: the fields to fetch; nil is all.
    /// - Parameter query: what to look for.
    /// - Parameter resultsLimit: how many records a page has at most.
    public func records(
        matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID? = nil,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> QueryMatches {
        try await matches(
            QuerySearch(query: query.definition, zoneID: zoneID), desiredKeys, resultsLimit)
    }

    /// Fetches the next page of a query.
    public func records(
        continuingMatchFrom cursor: CKQueryOperation.Cursor,
        desiredKeys: [CKRecord.FieldKey]? = nil,
        resultsLimit: Int = CKQueryOperation.maximumResults
    ) async throws -> QueryMatches {
        try await matches(cursor.search, desiredKeys, resultsLimit)
    }

    /// Runs a query and fetches only its first page; there is no cursor for the rest.
    ///
    /// - Throws: also the first error of a single record.
    @available(
        *, deprecated, message: "Use records(matching:inZoneWith:desiredKeys:resultsLimit:)."
    )
    @_disfavoredOverload
    public func records(
        matching query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?
    ) async throws -> [CKRecord] {
        try await firstPage(of: query, zoneID)
    }

    func firstPage(
        of query: CKQuery, _ zoneID: CKRecordZone.ID?
    ) async throws -> [CKRecord] {
        let search = QuerySearch(query: query.definition, zoneID: zoneID)
        let page = try await matches(search, nil, CKQueryOperation.maximumResults)
        return try page.matchResults.map { try $0.1.get() }
    }

    private func matches(
        _ search: QuerySearch, _ desiredKeys: [CKRecord.FieldKey]?, _ resultsLimit: Int
    ) async throws -> QueryMatches {
        let page = try await session.records(
            matching: search, resultsLimit: resultsLimit, desiredKeys: desiredKeys)
        return (page.matches.map { ($0.item, $0.result) }, page.cursor)
    }
}

extension Array {
    /// The result of a request for one item.
    func only() throws -> Element {
        guard let first, count == 1 else {
            throw CKError(
                .internalError,
                "The service answered \(count) items when 1 was requested; try again, or update the"
                    + " service.")
        }
        return first
    }
}
