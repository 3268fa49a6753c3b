import Foundation

/// Fetches zones by ID, or all zones of a database.
public final class CKFetchRecordZonesOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The zones to fetch; nil fetches all zones of the database.
    public var recordZoneIDs: [CKRecordZone.ID]?

    /// Called once for each zone.
    public var perRecordZoneResultBlock:
        ((CKRecordZone.ID, Result<CKRecordZone, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var fetchRecordZonesResultBlock: ((Result<Void, any Error>) -> Void)?

    var oldItemsBlock: (([CKRecordZone.ID: CKRecordZone]?, (any Error)?) -> Void)?
    private var results: [DatabaseSession.FetchedZone] = []

    /// Makes an operation that fetches zones by ID.
    public convenience init(recordZoneIDs: [CKRecordZone.ID]) {
        self.init(operationID: UUID().uuidString)
        self.recordZoneIDs = recordZoneIDs
    }

    /// Makes an operation that fetches all zones of its database.
    public class func fetchAllRecordZonesOperation() -> CKFetchRecordZonesOperation {
        CKFetchRecordZonesOperation(operationID: UUID().uuidString)
    }

    override func perform() async throws {
        let session = session()
        if let recordZoneIDs {
            try await hand(try await session.zones(for: recordZoneIDs))
        } else {
            try await hand(try await session.zones())
        }
    }

    func callBlocks(_ page: [DatabaseSession.FetchedZone]) {
        results = page
        forEach(page) { perRecordZoneResultBlock?($0.item, $0.result) }
    }

    override func end(_ error: CKError?) {
        fetchRecordZonesResultBlock?(Result(error))
        callBlock(oldItemsBlock, results, error)
        (perRecordZoneResultBlock, fetchRecordZonesResultBlock) = (nil, nil)
        oldItemsBlock = nil
        results = []
        super.end(error)
    }
}
