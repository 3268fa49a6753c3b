import Foundation

/// Saves and deletes subscriptions of the user in one database.
public final class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`, as in ``CKOperation``: settings and blocks are set before it is enqueued, and the rest is
    // touched only while it performs.

    /// The subscriptions to save; one with the ID of a stored subscription replaces it.
    ///
    /// A query subscription that is equal to a stored one except for its ID fails with
    /// `CKError.serverRejectedRequest`.
    public var subscriptionsToSave: [CKSubscription]?
    /// The subscriptions to delete; one that does not exist fails with `CKError.unknownItem`.
    public var subscriptionIDsToDelete: [CKSubscription.ID]?

    /// Called once for each subscription to save. One whose predicate CloudKit does not support
    /// fails with `CKError.invalidArguments`.
    public var perSubscriptionSaveBlock:
        ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    /// Called once for each ID in ``subscriptionIDsToDelete``.
    public var perSubscriptionDeleteBlock: ((CKSubscription.ID, Result<Void, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var modifySubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)?

    var oldItemsBlock: (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
    private var outcome = SubscriptionsModification()

    /// Makes an operation that saves and deletes subscriptions; both lists can be set later.
    public convenience init(
        subscriptionsToSave: [CKSubscription]? = nil,
        subscriptionIDsToDelete: [CKSubscription.ID]? = nil
    ) {
        self.init(operationID: UUID().uuidString)
        self.subscriptionsToSave = subscriptionsToSave
        self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    override func perform() async throws {
        let outcome = try await session().modifySubscriptions(
            saving: subscriptionsToSave ?? [], deleting: subscriptionIDsToDelete ?? [])
        try await hand(outcome)
    }

    func callBlocks(_ page: SubscriptionsModification) {
        outcome = page
        forEach(page.saves) { perSubscriptionSaveBlock?($0.item, $0.result) }
        forEach(page.deletions) { perSubscriptionDeleteBlock?($0.item, $0.result) }
    }

    override func end(_ error: CKError?) {
        modifySubscriptionsResultBlock?(Result(error))
        outcome.callBlock(oldItemsBlock, error)
        (perSubscriptionSaveBlock, perSubscriptionDeleteBlock) = (nil, nil)
        (modifySubscriptionsResultBlock, oldItemsBlock) = (nil, nil)
        outcome = SubscriptionsModification()
        super.end(error)
    }
}
