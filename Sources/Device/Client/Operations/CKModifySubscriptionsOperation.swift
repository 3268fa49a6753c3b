import Foundation

/// Saves and deletes subscriptions of the user in one database.
public final class CKModifySubscriptionsOperation: CKDatabaseOperation, @unchecked Sendable {
    // `@unchecked Sendable`: as ``CKOperation`` says: settings and blocks are set before it is enqueued,
    // and the rest is touched only while it performs.

    public var subscriptionsToSave: [CKSubscription]?
    public var subscriptionIDsToDelete: [CKSubscription.ID]?

    public var perSubscriptionSaveBlock:
        ((CKSubscription.ID, Result<CKSubscription, any Error>) -> Void)?
    public var perSubscriptionDeleteBlock: ((CKSubscription.ID, Result<Void, any Error>) -> Void)?
    /// Succeeds unless the operation failed as a whole.
    public var modifySubscriptionsResultBlock: ((Result<Void, any Error>) -> Void)?

    private var oldCompletionBlock:
        (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
    private var outcome = SubscriptionsModification()

    public convenience init(
        subscriptionsToSave: [CKSubscription]? = nil,
        subscriptionIDsToDelete: [CKSubscription.ID]? = nil
    ) {
        self.init(operationID: UUID().uuidString)
        self.subscriptionsToSave = subscriptionsToSave
        self.subscriptionIDsToDelete = subscriptionIDsToDelete
    }

    @available(*, deprecated, message: "Use modifySubscriptionsResultBlock.")
    public var modifySubscriptionsCompletionBlock:
        (([CKSubscription]?, [CKSubscription.ID]?, (any Error)?) -> Void)?
    {
        get { oldCompletionBlock }
        set { oldCompletionBlock = newValue }
    }

    override func perform() async throws {
        let outcome = try await session().modifySubscriptions(
            saving: subscriptionsToSave ?? [], deleting: subscriptionIDsToDelete ?? [])
        try await hand(outcome)
    }

    func tell(_ page: SubscriptionsModification) {
        outcome = page
        forEach(page.saves) { perSubscriptionSaveBlock?($0.subscriptionID, $0.result) }
        forEach(page.deletions) { perSubscriptionDeleteBlock?($0.subscriptionID, $0.result) }
    }

    override func report(_ error: CKError?) {
        modifySubscriptionsResultBlock?(Result(error))
        guard let oldCompletionBlock else { return }
        var errors: [AnyHashable: any Error] = [:]
        for save in outcome.saves { errors[save.subscriptionID] = save.result.failure }
        for one in outcome.deletions { errors[one.subscriptionID] = one.result.failure }
        oldCompletionBlock(
            outcome.saves.compactMap { $0.result.success },
            outcome.deletions.compactMap { $0.result.failure == nil ? $0.subscriptionID : nil },
            error ?? CKError.partialFailure(errors))
    }

    override func forgetBlocks() {
        super.forgetBlocks()
        perSubscriptionSaveBlock = nil
        perSubscriptionDeleteBlock = nil
        modifySubscriptionsResultBlock = nil
        oldCompletionBlock = nil
        outcome = SubscriptionsModification()
    }
}
