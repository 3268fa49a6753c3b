import Foundation

/// Creates and deletes zones of the private database. Deleting a zone of the shared database leaves
/// the share.
public final class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`: as ``CKOperation`` says: settings and blocks are set before it is enqueued,
    // and the rest is touched only while it performs.

    public var recordZonesToSave: [CKRecordZone]?
    /// The zones to delete permanently, with all their records.
    public var recordZoneIDsToDelete: [CKRecordZone.ID]?

    public var perRecordZoneSaveBlock: ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
    public var perRecordZoneDeleteBlock: ((CKRecordZone.ID, Result<Void, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var modifyRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)?

    private var oldCompletionBlock: (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?
    private var outcome = ZonesModification()

    public convenience init(
        recordZonesToSave: [CKRecordZone]? = nil, recordZoneIDsToDelete: [CKRecordZone.ID]? = nil
    ) {
        self.init(operationID: UUID().uuidString)
        self.recordZonesToSave = recordZonesToSave
        self.recordZoneIDsToDelete = recordZoneIDsToDelete
    }

    @available(*, deprecated, message: "Use modifyRecordZonesResultBlock.")
    public var modifyRecordZonesCompletionBlock:
        (([CKRecordZone]?, [CKRecordZone.ID]?, (any Error)?) -> Void)?
    {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }

    override func perform() async throws {
        let outcome = try await session().modifyZones(
            saving: recordZonesToSave ?? [], deleting: recordZoneIDsToDelete ?? [],
            operationID: operationID)
        try await hand(outcome)
    }

    func tell(_ page: ZonesModification) {
        outcome = page
        forEach(page.saves) { perRecordZoneSaveBlock?($0.zoneID, $0.result) }
        forEach(page.deletions) { perRecordZoneDeleteBlock?($0.zoneID, $0.result) }
    }

    override func report(_ error: CKError?) {
        modifyRecordZonesResultBlock?(Result(error))
        guard let oldCompletionBlock else { return }
        var errors: [AnyHashable: any Error] = [:]
        for save in outcome.saves { errors[save.zoneID] = save.result.failure }
        for deletion in outcome.deletions { errors[deletion.zoneID] = deletion.result.failure }
        oldCompletionBlock(
            outcome.saves.compactMap { $0.result.success },
            outcome.deletions.compactMap { $0.result.failure == nil ? $0.zoneID : nil },
            error ?? CKError.partialFailure(errors))
    }

    override func forgetBlocks() {
        super.forgetBlocks()
        perRecordZoneSaveBlock = nil
        perRecordZoneDeleteBlock = nil
        modifyRecordZonesResultBlock = nil
        oldCompletionBlock = nil
        outcome = ZonesModification()
    }
}
