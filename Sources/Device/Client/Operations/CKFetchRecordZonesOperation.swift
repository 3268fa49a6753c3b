import Foundation

/// Fetches zones by ID, or all zones of a database.
public final class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`: as ``CKOperation`` says: settings and blocks are set before it is enqueued,
    // and the rest is touched only while it performs.

    /// The zones to fetch; nil fetches all zones of the database.
    public var recordZoneIDs: [CKRecordZone.ID]?

    public var perRecordZoneResultBlock:
        ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var fetchRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)?

    private var oldCompletionBlock: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?
    private var results: [DatabaseSession.FetchedZone] = []

    public convenience init(recordZoneIDs: [CKRecordZone.ID]) {
        self.init(operationID: UUID().uuidString)
        self.recordZoneIDs = recordZoneIDs
    }

    public class func fetchAllRecordZonesOperation() -> CKFetchRecordZonesOperation {
        CKFetchRecordZonesOperation(operationID: UUID().uuidString)
    }

    @available(*, deprecated, message: "Use fetchRecordZonesResultBlock.")
    public var fetchRecordZonesCompletionBlock:
        (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?
    {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }

    override func perform() async throws {
        let session = session()
        let results: [DatabaseSession.FetchedZone]
        if let recordZoneIDs {
            results = try await session.zones(for: recordZoneIDs)
        } else {
            results = try await session.zones()
        }
        try await hand(results)
    }

    func tell(_ page: [DatabaseSession.FetchedZone]) {
        results = page
        forEach(page) { perRecordZoneResultBlock?($0.zoneID, $0.result) }
    }

    override func report(_ error: CKError?) {
        fetchRecordZonesResultBlock?(Result(error))
        guard let oldCompletionBlock else { return }
        var zones: [CKRecordZone.ID: CKRecordZone] = [:]
        var errors: [AnyHashable: any Error] = [:]
        for (zoneID, result) in results {
            zones[zoneID] = result.success
            errors[zoneID] = result.failure
        }
        oldCompletionBlock(zones, error ?? CKError.partialFailure(errors))
    }

    override func forgetBlocks() {
        super.forgetBlocks()
        perRecordZoneResultBlock = nil
        fetchRecordZonesResultBlock = nil
        oldCompletionBlock = nil
        results = []
    }
}
