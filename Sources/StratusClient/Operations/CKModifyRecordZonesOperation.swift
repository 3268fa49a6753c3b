import Foundation

/// Makes and deletes zones of the private database; leaves zones of the shared one.
public final class CKModifyRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`: as ``CKOperation`` says: settings and blocks are set before it is enqueued,
    // and the rest is touched only while it performs.

    public var recordZonesToSave: [CKRecordZone]?
    /// With a zone go all its records, for ever.
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
        deliver {
            self.outcome = outcome
            for (zoneID, result) in outcome.saves { self.perRecordZoneSaveBlock?(zoneID, result) }
            for (zoneID, result) in outcome.deletions {
                self.perRecordZoneDeleteBlock?(zoneID, result)
            }
        }
        await delivered()
        if isCancelled { throw CKError.cancelled }
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
}
