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

    /// Deletes one of the user's subscriptions.
    ///
    /// - Returns: the given ID.
    /// - Throws: the subscription's own error, such as `CKError.unknownItem`.
    @discardableResult
    public func deleteSubscription(
        withID subscriptionID: CKSubscription.ID
    ) async throws -> CKSubscription.ID {
        try await session.modifySubscriptions(saving: [], deleting: [subscriptionID]).deletions
            .only().result.get()
        return subscriptionID
    }

    // MARK: Many subscriptions

    /// The result of each subscription that was to be saved or deleted, by ID.
    public typealias SubscriptionModifications = (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    )

    /// Fetches all subscriptions of the user in the database; one that cannot be read is left out.
    public func allSubscriptions() async throws -> [CKSubscription] {
        // A subscription that another release stored and this one cannot read is left out: an app
        // that needs it saves it again. `CKFetchSubscriptionsOperation` reports its error.
        try await session.subscriptions().compactMap(\.result.success)
    }

    /// Fetches subscriptions; the errors of single ones are in their own results.
    public func subscriptions(
        for subscriptionIDs: [CKSubscription.ID]
    ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        byItem(try await session.subscriptions(for: subscriptionIDs))
    }

    /// Saves and deletes subscriptions of the user; each succeeds or fails on its own.
    ///
    /// A subscription that is saved replaces the one with the same ID. The same query under another ID is
    /// refused with `CKError.serverRejectedRequest`.
    ///
    /// - Throws: `CKError` when the request fails as a whole.
    @discardableResult
    public func modifySubscriptions(
        saving subscriptions: [CKSubscription], deleting subscriptionIDs: [CKSubscription.ID]
    ) async throws -> SubscriptionModifications {
        try await session.modifySubscriptions(saving: subscriptions, deleting: subscriptionIDs)
            .resultsByItem
    }
}
