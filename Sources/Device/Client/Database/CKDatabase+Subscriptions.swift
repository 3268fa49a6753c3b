import Foundation

extension CKDatabase {
    // MARK: One subscription

    /// - Throws: the subscription's own error, such as `CKError.unknownItem`.
    public func subscription(
        for subscriptionID: CKSubscription.ID
    ) async throws -> CKSubscription {
        try await session.subscriptions(for: [subscriptionID]).only().result.get()
    }

    @preconcurrency
    public func fetch(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        core.call({ try await self.subscription(for: subscriptionID) }) {
            $0.hand(to: completionHandler)
        }
    }

    /// Saves a subscription; saving the same one again is not an error.
    @discardableResult
    public func save(_ subscription: CKSubscription) async throws -> CKSubscription {
        try await session.modifySubscriptions(saving: [subscription], deleting: []).saves.only()
            .result.get()
    }

    @preconcurrency
    public func save(
        _ subscription: CKSubscription,
        completionHandler: @escaping @Sendable (CKSubscription?, (any Error)?) -> Void
    ) {
        core.call({ try await self.save(subscription) }) { $0.hand(to: completionHandler) }
    }

    @discardableResult
    public func deleteSubscription(
        withID subscriptionID: CKSubscription.ID
    ) async throws -> CKSubscription.ID {
        try await session.modifySubscriptions(saving: [], deleting: [subscriptionID]).deletions
            .only().result.get()
        return subscriptionID
    }

    @preconcurrency
    public func delete(
        withSubscriptionID subscriptionID: CKSubscription.ID,
        completionHandler: @escaping @Sendable (String?, (any Error)?) -> Void
    ) {
        core.call({ try await self.deleteSubscription(withID: subscriptionID) }) {
            $0.hand(to: completionHandler)
        }
    }

    // MARK: Many subscriptions

    public func allSubscriptions() async throws -> [CKSubscription] {
        // A subscription that another release stored and this one cannot read is left out: an app
        // that needs it saves it again. `CKFetchSubscriptionsOperation` reports its error.
        try await session.subscriptions().compactMap(\.result.success)
    }

    @preconcurrency
    public func fetchAllSubscriptions(
        completionHandler: @escaping @Sendable ([CKSubscription]?, (any Error)?) -> Void
    ) {
        core.call({ try await self.allSubscriptions() }) { $0.hand(to: completionHandler) }
    }

    public func subscriptions(
        for subscriptionIDs: [CKSubscription.ID]
    ) async throws -> [CKSubscription.ID: Result<CKSubscription, any Error>] {
        let results = try await session.subscriptions(for: subscriptionIDs)
        return Dictionary(results.map { ($0.subscriptionID, $0.result) }) { first, _ in first }
    }

    @preconcurrency
    public func fetch(
        withSubscriptionIDs subscriptionIDs: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (
                Result<[CKSubscription.ID: Result<CKSubscription, any Error>], any Error>
            ) -> Void
    ) {
        core.call(
            { try await self.subscriptions(for: subscriptionIDs) }, completion: completionHandler)
    }

    public typealias SubscriptionModifications = (
        saveResults: [CKSubscription.ID: Result<CKSubscription, any Error>],
        deleteResults: [CKSubscription.ID: Result<Void, any Error>]
    )

    @discardableResult
    public func modifySubscriptions(
        saving subscriptions: [CKSubscription], deleting subscriptionIDs: [CKSubscription.ID]
    ) async throws -> SubscriptionModifications {
        let outcome = try await session.modifySubscriptions(
            saving: subscriptions, deleting: subscriptionIDs)
        return (
            Dictionary(outcome.saves.map { ($0.subscriptionID, $0.result) }) { first, _ in first },
            Dictionary(outcome.deletions.map { ($0.subscriptionID, $0.result) }) { first, _ in first
            }
        )
    }

    @preconcurrency
    public func modifySubscriptions(
        saving subscriptions: [CKSubscription], deleting subscriptionIDs: [CKSubscription.ID],
        completionHandler:
            @escaping @Sendable (Result<SubscriptionModifications, any Error>) -> Void
    ) {
        core.call(
            {
                try await self.modifySubscriptions(
                    saving: subscriptions, deleting: subscriptionIDs)
            }, completion: completionHandler)
    }
}
