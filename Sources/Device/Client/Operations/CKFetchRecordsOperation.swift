import Foundation

/// Fetches records by ID with one request.
public final class CKFetchRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`: as ``CKOperation`` says: settings and blocks are set before it is enqueued,
    // and the rest is touched only while it performs.

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

    private var oldRecordBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)?
    private var oldCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)?
    var isForCurrentUser = false
    private var results: [DatabaseSession.FetchedRecord] = []

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

    /// Ignored when ``perRecordResultBlock`` is set.
    @available(*, deprecated, message: "Use perRecordResultBlock.")
    public var perRecordCompletionBlock: ((CKRecord?, CKRecord.ID?, (any Error)?) -> Void)? {
        get { oldRecordBlock }
        set { oldRecordBlock = newValue }
    }

    /// Called at the end with what succeeded; the error is `partialFailure` when single records
    /// failed.
    @available(*, deprecated, message: "Use fetchRecordsResultBlock.")
    public var fetchRecordsCompletionBlock: (([CKRecord.ID: CKRecord]?, (any Error)?) -> Void)? {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
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

    func tell(_ page: [DatabaseSession.FetchedRecord]) {
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

    override func report(_ error: CKError?) {
        fetchRecordsResultBlock?(Result(error))
        guard let oldCompletionBlock else { return }
        var records: [CKRecord.ID: CKRecord] = [:]
        var errors: [AnyHashable: any Error] = [:]
        for (recordID, result) in results {
            records[recordID] = result.success
            errors[recordID] = result.failure
        }
        oldCompletionBlock(records, error ?? CKError.partialFailure(errors))
    }

    override func forgetBlocks() {
        super.forgetBlocks()
        perRecordProgressBlock = nil
        perRecordResultBlock = nil
        fetchRecordsResultBlock = nil
        (oldRecordBlock, oldCompletionBlock) = (nil, nil)
        results = []
    }
}
