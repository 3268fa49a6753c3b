import Foundation

/// Fetches subscriptions by ID, or all of the user's in a database.
public final class CKFetchSubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`: as ``CKOperation`` says: settings and blocks are set before it is enqueued,
    // and the rest is touched only while it performs.

    /// The subscriptions to fetch; nil fetches all.
    public var subscriptionIDs: [CKSubscription.ID]?

    public var perSubscriptionResultBlock:
        ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var fetchSubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)?

    private var oldCompletionBlock: (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?
    private var results: [DatabaseSession.FetchedSubscription] = []

    public convenience init(subscriptionIDs: [CKSubscription.ID]) {
        self.init(operationID: UUID().uuidString)
        self.subscriptionIDs = subscriptionIDs
    }

    public class func fetchAllSubscriptionsOperation() -> CKFetchSubscriptionsOperation {
        CKFetchSubscriptionsOperation(operationID: UUID().uuidString)
    }

    @available(*, deprecated, message: "Use fetchSubscriptionsResultBlock.")
    public var fetchSubscriptionCompletionBlock:
        (([CKSubscription.ID: CKSubscription]?, (any Error)?) -> Void)?
    {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }

    override func perform() async throws {
        let session = session()
        let results: [DatabaseSession.FetchedSubscription]
        if let subscriptionIDs {
            results = try await session.subscriptions(for: subscriptionIDs)
        } else {
            results = try await session.subscriptions()
        }
        try await hand(results)
    }

    func tell(_ page: [DatabaseSession.FetchedSubscription]) {
        results = page
        forEach(page) { perSubscriptionResultBlock?($0.subscriptionID, $0.result) }
    }

    override func report(_ error: CKError?) {
        fetchSubscriptionsResultBlock?(Result(error))
        guard let oldCompletionBlock else { return }
        var subscriptions: [CKSubscription.ID: CKSubscription] = [:]
        var errors: [AnyHashable: any Error] = [:]
        for (identifier, result) in results {
            subscriptions[identifier] = result.success
            errors[identifier] = result.failure
        }
        oldCompletionBlock(subscriptions, error ?? CKError.partialFailure(errors))
    }

    override func forgetBlocks() {
        super.forgetBlocks()
        perSubscriptionResultBlock = nil
        fetchSubscriptionsResultBlock = nil
        oldCompletionBlock = nil
        results = []
    }
}
