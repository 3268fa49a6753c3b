import Foundation

/// Fetches records by ID with one request.
public final class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The records to fetch; nil fetches none. More than the service takes in one request fail with
    /// `CKError.limitExceeded`.
    public var recordIDs: [CKRecord.ID]?
    /// The fields to fetch; nil fetches all, an empty list only the system's.
    public var desiredKeys: [CKRecord.FieldKey]?

    /// Called with the fraction of a record's assets that was received, and with 1.0 for each
    /// fetched record; the fraction may decrease when a request is repeated.
    public var perRecordProgressBlock: ((CKRecord.ID, Double) -> Void)?
    /// Called once for each record ID.
    public var perRecordResultBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var fetchRecordsResultBlock: ((Result<Void, any Error>) -> Void)?

    var oldRecordBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
    var oldItemsBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)?
    var isForCurrentUser = false
    private var results: [DatabaseSession.FetchedRecord] = []

    /// Makes an operation that fetches records by ID.
    public convenience init(recordIDs: [CKRecord.ID]) {
        self.init(operationID: UUID().uuidString)
        self.recordIDs = recordIDs
    }

    /// Makes an operation that fetches the record of the user who is signed in.
    public class func fetchCurrentUserRecordOperation() -> CKFetchRecordsOperation {
        let operation = CKFetchRecordsOperation(operationID: UUID().uuidString)
        operation.isForCurrentUser = true
        return operation
    }

    override func perform() async throws {
        let session = session()
        var recordIDs = recordIDs ?? []
        if isForCurrentUser {
            let name = try await session.core.userRecordName(pace: session.sender.pace)
            recordIDs = [CKRecordID(known: name)]
        }
        let results = try await session.records(for: recordIDs, desiredKeys: desiredKeys) {
            record, part in
            self.deliver { self.perRecordProgressBlock?(record.recordID, part) }
        }
        try await hand(results)
    }

    func callBlocks(_ page: [DatabaseSession.FetchedRecord]) {
        results = page
        forEach(page) { recordID, result in
            if result.failure == nil { perRecordProgressBlock?(recordID, 1) }
            if let perRecordResultBlock {
                perRecordResultBlock(recordID, result)
            } else {
                oldRecordBlock?(result.success, recordID, result.failure)
            }
        }
    }

    override func end(_ error: CKError?) {
        fetchRecordsResultBlock?(Result(error))
        callBlock(oldItemsBlock, results, error)
        perRecordProgressBlock = nil
        perRecordResultBlock = nil
        fetchRecordsResultBlock = nil
        (oldRecordBlock, oldItemsBlock) = (nil, nil)
        results = []
        super.end(error)
    }
}
