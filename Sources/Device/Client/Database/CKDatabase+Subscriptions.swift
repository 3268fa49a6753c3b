import Foundation

extension CKDatabase {
    // MARK: One subscription

    /// - Throws: the subscription's own error, such as `CKError.unknownItem`.
    public func subscription(
        for subscriptionID: CKSubscription.ID
    ) async throws -> CKSubscription {
        try await session.subscriptions(for: [subscriptionID]).only().result.get()
    }

    /// Saves a subscription; saving the same one again is not an error.
    @discardableResult
    public func save(_ subscription: CKSubscription) async throws -> CKSubscription {
        try await session.modifySubscriptions(saving: [subscription], deleting: []).saves.only()
            .result.get()
    }

    @discardableResult
    public func deleteSubscription(
        withID subscriptionID: CKSubscription.ID
    ) async throws -> CKSubscription.ID {
        try await session.modifySubscriptions(saving: [], deleting: [subscriptionID]).deletions
            .only().result.get()
        return subscriptionID
    }

    // MARK: Many subscriptions

    public typealias SubscriptionModifications = (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    )

    public func allSubscriptions() async throws -> [CKSubscription] {
        // A subscription that another release stored and this one cannot read is left out: an app
        // that needs it saves it again. `CKFetchSubscriptionsOperation` reports its error.
        try await session.subscriptions().compactMap(\.result.success)
    }

    public func subscriptions(
        for subscriptionIDs: [CKSubscription.ID]
    ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        byItem(try await session.subscriptions(for: subscriptionIDs))
    }

    @discardableResult
    public func modifySubscriptions(
        saving subscriptions: [CKSubscription], deleting subscriptionIDs: [CKSubscription.ID]
    ) async throws -> SubscriptionModifications {
        try await session.modifySubscriptions(saving: subscriptions, deleting: subscriptionIDs)
            .resultsByItem
    }
}
