import Foundation

/// Fetches which zones changed since a token. The default zone is never among them.
public final class CKFetchDatabaseChangesOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The token to start from; nil starts from the beginning.
    public var previousServerChangeToken: CKServerChangeToken?
    /// The maximum number of zones in one answer; 0 lets the service decide.
    public var resultsLimit = 0
    /// Whether the operation continues until there are no more changes.
    public var fetchAllChanges = true

    /// Called for each zone that was created, or in which something changed.
    public var recordZoneWithIDChangedBlock: ((CKRecordZone.ID) -> Void)?
    /// Called for each zone that is no longer in the database, also if it was purged or reset, when the block for
    /// that is not set.
    public var recordZoneWithIDWasDeletedBlock: ((CKRecordZone.ID) -> Void)?
    /// Called instead of ``recordZoneWithIDWasDeletedBlock`` for zones that the user purged.
    public var recordZoneWithIDWasPurgedBlock: ((CKRecordZone.ID) -> Void)?
    /// Called instead of ``recordZoneWithIDWasDeletedBlock`` for zones whose encrypted data was
    /// reset.
    public var recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock:
        ((CKRecordZone.ID) -> Void)?
    /// Called after each answer except the last.
    public var changeTokenUpdatedBlock: ((CKServerChangeToken) -> Void)?
    /// Called once at the end, with the newest change token and whether there are more changes to fetch, or with
    /// the error of the operation as a whole.
    public var fetchDatabaseChangesResultBlock:
        ((Result<(serverChangeToken: CKServerChangeToken, moreComing: Bool), any Error>) -> Void)?

    var oldChangesBlock: ((CKServerChangeToken?, Bool, (any Error)?) -> Void)?
    private var last: (token: CKServerChangeToken, moreComing: Bool)?

    /// Makes an operation that fetches the zones that changed since a token.
    ///
    /// - Parameter previousServerChangeToken: nil starts from the beginning.
    public convenience init(previousServerChangeToken: CKServerChangeToken?) {
        self.init(operationID: UUID().uuidString)
        self.previousServerChangeToken = previousServerChangeToken
    }

    override func perform() async throws {
        let session = session()
        var token = previousServerChangeToken
        while true {
            let page = try await session.databaseChanges(since: token, resultsLimit: resultsLimit)
            token = page.token
            let goesOn = page.moreComing && fetchAllChanges
            try await hand(Page(changes: page, isIntermediate: goesOn))
            if !goesOn { return }
        }
    }

    /// One answer.
    struct Page: Sendable {
        var changes: DatabaseChangesPage
        /// Whether another page follows.
        var isIntermediate: Bool
    }

    func callBlocks(_ page: Page) {
        let (isIntermediate, page) = (page.isIntermediate, page.changes)
        forEach(page.changed) { recordZoneWithIDChangedBlock?($0) }
        forEach(page.deleted) { zoneID, reason in
            let block =
                switch reason {
                case .deleted: recordZoneWithIDWasDeletedBlock
                case .purged: recordZoneWithIDWasPurgedBlock ?? recordZoneWithIDWasDeletedBlock
                case .encryptedDataReset:
                    recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock
                        ?? recordZoneWithIDWasDeletedBlock
                }
            block?(zoneID)
        }
        if isCancelled { return }
        if isIntermediate { changeTokenUpdatedBlock?(page.token) }
        last = (page.token, page.moreComing)
    }

    override func end(_ error: CKError?) {
        if let error {
            fetchDatabaseChangesResultBlock?(.failure(error))
        } else if let last {
            fetchDatabaseChangesResultBlock?(.success((last.token, last.moreComing)))
        }
        oldChangesBlock?(last?.token, last?.moreComing ?? false, error)
        recordZoneWithIDChangedBlock = nil
        recordZoneWithIDWasDeletedBlock = nil
        recordZoneWithIDWasPurgedBlock = nil
        recordZoneWithIDWasDeletedDueToUserEncryptedDataResetBlock = nil
        changeTokenUpdatedBlock = nil
        fetchDatabaseChangesResultBlock = nil
        oldChangesBlock = nil
        super.end(error)
    }
}
