import Foundation

/// Creates and deletes zones of the private database. Deleting a zone of the shared database leaves
/// the share.
public final class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The zones to create; saving a zone that exists succeeds.
    ///
    /// Only the private database takes them: in another one the operation fails with
    /// `CKError.badDatabase`.
    public var recordZonesToSave: [CKRecordZone]?
    /// The zones to delete permanently, with all their records.
    public var recordZoneIDsToDelete: [CKRecordZone.ID]?

    /// Called once for each zone to save, with the zone as the service has it.
    public var perRecordZoneSaveBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
    /// Called once for each zone to delete. In the private database, deleting a zone that does not
    /// exist succeeds.
    public var perRecordZoneDeleteBlock: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var modifyRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)?

    var oldItemsBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?
    private var outcome = ZonesModification()

    /// Makes an operation that saves and deletes zones; both lists can be set later.
    public convenience init(
        recordZonesToSave: [CKRecordZone]? = nil, recordZoneIDsToDelete: [CKRecordZone.ID]? = nil
    ) {
        self.init(operationID: UUID().uuidString)
        self.recordZonesToSave = recordZonesToSave
        self.recordZoneIDsToDelete = recordZoneIDsToDelete
    }

    override func perform() async throws {
        let outcome = try await session().modifyZones(
            saving: recordZonesToSave ?? [], deleting: recordZoneIDsToDelete ?? [],
            operationID: operationID)
        try await hand(outcome)
    }

    func callBlocks(_ page: ZonesModification) {
        outcome = page
        forEach(page.saves) { perRecordZoneSaveBlock?($0.item, $0.result) }
        forEach(page.deletions) { perRecordZoneDeleteBlock?($0.item, $0.result) }
    }

    override func end(_ error: CKError?) {
        modifyRecordZonesResultBlock?(Result(error))
        outcome.callBlock(oldItemsBlock, error)
        (perRecordZoneSaveBlock, perRecordZoneDeleteBlock) = (nil, nil)
        (modifyRecordZonesResultBlock, oldItemsBlock) = (nil, nil)
        outcome = ZonesModification()
        super.end(error)
    }
}
