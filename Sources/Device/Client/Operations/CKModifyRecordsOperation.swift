import Foundation

/// Saves and deletes records with one request.
///
/// With more items than the service accepts, the whole operation fails with
/// `CKError.limitExceeded`; divide the items in half and try again. Within each custom zone the
/// batch is atomic unless ``isAtomic`` says otherwise.
///
/// ```swift
/// let operation = CKModifyRecordsOperation(recordsToSave: [trail])
/// operation.savePolicy = .changedKeys
/// operation.perRecordSaveBlock = { id, result in show(id, result) }
/// operation.modifyRecordsResultBlock = { result in print(result) }
/// database.add(operation)
/// ```
public final class CKModifyRecordsOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// How a save treats changes that were made on the service since the record was fetched.
    public enum RecordSavePolicy: Int, Sendable {
        /// Sends the changed keys and the change tag; a newer record on the service is a conflict.
        case ifServerRecordUnchanged = 0
        /// Sends the changed keys; the last writer of each key wins.
        case changedKeys = 1
        /// Sends all keys of the record; keys that only the service has survive.
        case allKeys = 2
    }

    /// The records to save, of any zones of the database. Those that are saved take the service's
    /// answer, such as the new change tag.
    public var recordsToSave: [CKRecord]?
    /// The records to delete. Records that refer to them with `.deleteSelf` are deleted with them.
    public var recordIDsToDelete: [CKRecord.ID]?
    /// How a save treats newer records on the service; `.ifServerRecordUnchanged` by default.
    ///
    /// The participants of a share are always saved by that default.
    public var savePolicy = RecordSavePolicy.ifServerRecordUnchanged
    /// Whether a failed item fails all others of its custom zone, with
    /// `CKError.batchRequestFailed`; true by default. The service saves items of the default zone
    /// one by one.
    public var isAtomic = true
    /// Has no effect: the protocol does not transmit it, so zone fetches do not return it.
    public var clientChangeTokenData: Data?

    /// Called with the fraction of a record's assets that was sent, and with 1.0 for each sent
    /// record; the fraction may decrease when a request is repeated.
    public var perRecordProgressBlock: ((CKRecord, Double) -> Void)?
    /// Called once for each record to save.
    public var perRecordSaveBlock: ((CKRecord.ID, Result<CKRecord, any Error>) -> Void)?
    /// Called once for each record to delete; not for records that are deleted with it.
    public var perRecordDeleteBlock: ((CKRecord.ID, Result<Void, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole; the errors of single records are in their
    /// own results.
    public var modifyRecordsResultBlock: ((Result<Void, any Error>) -> Void)?

    var oldRecordBlock: ((CKRecord, (any Error)?) -> Void)?
    var oldItemsBlock: (([CKRecord]?, [CKRecord.ID]?, (any Error)?) -> Void)?
    private var outcome = RecordsModification()

    /// Makes an operation that saves and deletes records; both lists can be set later.
    public convenience init(
        recordsToSave: [CKRecord]? = nil, recordIDsToDelete: [CKRecord.ID]? = nil
    ) {
        self.init(operationID: UUID().uuidString)
        self.recordsToSave = recordsToSave
        self.recordIDsToDelete = recordIDsToDelete
    }

    override func perform() async throws {
        let outcome = try await session().modifyRecords(
            saving: recordsToSave ?? [], deleting: recordIDsToDelete ?? [], policy: savePolicy,
            isAtomic: isAtomic, operationID: operationID
        ) { record, part in
            self.deliver { self.perRecordProgressBlock?(record, part) }
        }
        try await hand(outcome)
    }

    func callBlocks(_ page: RecordsModification) {
        outcome = page
        let records = recordsToSave ?? []
        forEach(zip(records, page.saves)) { record, save in
            // If a stored outcome is reported again, the record that the save returned.
            let record = save.result.success ?? record
            perRecordProgressBlock?(record, 1)
            if let perRecordSaveBlock {
                perRecordSaveBlock(save.item, save.result)
            } else {
                oldRecordBlock?(record, save.result.failure)
            }
        }
        forEach(page.deletions) { perRecordDeleteBlock?($0.item, $0.result) }
    }

    override func end(_ error: CKError?) {
        modifyRecordsResultBlock?(Result(error))
        outcome.callBlock(oldItemsBlock, error)
        perRecordProgressBlock = nil
        perRecordSaveBlock = nil
        perRecordDeleteBlock = nil
        modifyRecordsResultBlock = nil
        (oldRecordBlock, oldItemsBlock) = (nil, nil)
        outcome = RecordsModification()
        super.end(error)
    }
}

extension Result {
    var success: Success? {
        if case .success(let value) = self { value } else { nil }
    }

    var failure: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}

extension Result<Void, any Error> {
    /// Success, or the error with which the operation failed as a whole.
    init(_ error: CKError?) {
        self = error.map { .failure($0) } ?? .success(())
    }
}

/// The older name of ``CKModifyRecordsOperation/RecordSavePolicy``.
@available(*, deprecated, renamed: "CKModifyRecordsOperation.RecordSavePolicy")
public typealias CKRecordSavePolicy = CKModifyRecordsOperation.RecordSavePolicy
