import Foundation

/// Fetches subscriptions by ID, or all of the user's in a database.
public final class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The subscriptions to fetch; nil fetches all.
    public var subscriptionIDs: [CKSubscription.ID]?

    /// Called once for each subscription in ``subscriptionIDs``, or for each of the user's when all
    /// are fetched. `CKError.unknownItem` means that the user has no subscription with the ID.
    public var perSubscriptionResultBlock:
        ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var fetchSubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)?

    var oldItemsBlock: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?
    private var results: [DatabaseSession.FetchedSubscription] = []

    /// Makes an operation that fetches the user's subscriptions with these IDs.
    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
        self.init(operationID: UUID().uuidString)
        self.subscriptionIDs = subscriptionIDs
    }

    /// Makes an operation that fetches all subscriptions of the user in its database.
    public class func fetchAllSubscriptionsOperation() -> CKFetchSubscriptionsOperation {
        CKFetchSubscriptionsOperation(operationID: UUID().uuidString)
    }

    override func perform() async throws {
        let session = session()
        if let subscriptionIDs {
            try await hand(try await session.subscriptions(for: subscriptionIDs))
        } else {
            try await hand(try await session.subscriptions())
        }
    }

    func callBlocks(_ page: [DatabaseSession.FetchedSubscription]) {
        results = page
        forEach(page) { perSubscriptionResultBlock?($0.item, $0.result) }
    }

    override func end(_ error: CKError?) {
        fetchSubscriptionsResultBlock?(Result(error))
        callBlock(oldItemsBlock, results, error)
        (perSubscriptionResultBlock, fetchSubscriptionsResultBlock) = (nil, nil)
        oldItemsBlock = nil
        results = []
        super.end(error)
    }
}
