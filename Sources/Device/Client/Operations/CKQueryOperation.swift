import Foundation

/// Fetches one page of a query with one request.
///
/// Only the cursor says whether more matches follow: a page before the last may have fewer records
/// than requested.
///
/// ```swift
/// let operation = CKQueryOperation(query: query)
/// operation.resultsLimit = 20
/// operation.recordMatchedBlock = { id, result in show(id, result) }
/// operation.queryResultBlock = { result in
///     if case .success(let cursor?) = result { fetchPage(after: cursor) }
/// }
/// database.add(operation)
/// ```
public final class CKQueryOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The position after a page of a query; see ``CKQueryCursor``.
    public typealias Cursor = CKQueryCursor

    /// A results limit that lets the service decide.
    public class var maximumResults: Int { 0 }

    /// The query whose first page is fetched. Without it and without ``cursor``, the operation
    /// fails with `CKError.invalidArguments`.
    public var query: CKQuery?
    /// When set, ``query`` and ``zoneID`` are ignored.
    public var cursor: Cursor?
    /// The zone to search; nil searches all zones of the private or public database. The shared
    /// database needs a zone.
    public var zoneID: CKRecordZone.ID?
    /// The maximum number of matches in the page, ``maximumResults`` by default. The service may
    /// have a lower limit.
    public var resultsLimit = CKQueryOperation.maximumResults
    /// The fields to fetch; nil fetches all, an empty list only the system's.
    public var desiredKeys: [CKRecord.FieldKey]?

    /// Called for each match, in the query's order.
    public var recordMatchedBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// Called at the end, with a cursor when more matches may follow.
    public var queryResultBlock: ((Result<Cursor?, any Error>) -> Void)?

    var oldRecordBlock: ((CKRecord) -> Void)?
    var oldCursorBlock: ((Cursor?, (any Error)?) -> Void)?
    private var nextCursor: Cursor?

    /// Makes an operation that fetches the first page of a query.
    public convenience init(query: CKQuery) {
        self.init(operationID: UUID().uuidString)
        self.query = query
    }

    /// Makes an operation that fetches the page after the one that the cursor came from.
    public convenience init(cursor: Cursor) {
        self.init(operationID: UUID().uuidString)
        self.cursor = cursor
    }

    override func perform() async throws {
        let search: QuerySearch
        if let cursor {
            search = cursor.search
        } else if let query {
            search = QuerySearch(query: query.definition, zoneID: zoneID)
        } else {
            throw CKError(
                .invalidArguments,
                "The operation has neither query nor cursor; give it one of them.")
        }
        let page = try await session().records(
            matching: search, resultsLimit: resultsLimit, desiredKeys: desiredKeys)
        try await hand(page)
    }

    func callBlocks(_ page: QueryPage) {
        nextCursor = page.cursor
        forEach(page.matches) { recordID, result in
            itemErrors[recordID] = result.failure
            if let recordMatchedBlock {
                recordMatchedBlock(recordID, result)
            } else if let record = result.success {
                oldRecordBlock?(record)
            }
        }
    }

    override func end(_ error: CKError?) {
        if let error {
            queryResultBlock?(.failure(error))
        } else {
            queryResultBlock?(.success(nextCursor))
        }
        oldCursorBlock?(nextCursor, error ?? itemsFailure)
        recordMatchedBlock = nil
        queryResultBlock = nil
        (oldRecordBlock, oldCursorBlock) = (nil, nil)
        super.end(error)
    }
}

/// The older name of ``CKQueryOperation/maximumResults``.
@available(*, deprecated, renamed: "CKQueryOperation.maximumResults")
public let CKQueryOperationMaximumResults = CKQueryOperation.maximumResults
