import Foundation
import StratusRuntime
import StratusWire

/// The results of a request to save and delete subscriptions.
struct SubscriptionsModification: ItemsModification {
    var saves: [DatabaseSession.FetchedSubscription] = []
    var deletions: [ItemResult<CKSubscription.ID, Void>] = []
}

extension DatabaseSession {
    typealias FetchedSubscription = ItemResult<CKSubscription.ID, CKSubscription>

    func modifySubscriptions(
        saving subscriptions: [CKSubscription], deleting subscriptionIDs: [CKSubscription.ID]
    ) async throws -> SubscriptionsModification {
        guard !subscriptions.isEmpty || !subscriptionIDs.isEmpty else {
            return SubscriptionsModification()
        }
        let translation = QueryTranslation(now: sender.connection.world.now)
        let saves = subscriptions.map { subscription in
            Result {
                SubscriptionsModify.Operation(.create, try subscription.dictionary(translation))
            }
        }
        let operations =
            saves.compactMap(\.success)
            + subscriptionIDs.map {
                SubscriptionsModify.Operation(
                    .delete, SubscriptionDictionary(subscriptionID: $0, kind: nil))
            }
        var results: ArraySlice<SubscriptionResult> = []
        if !operations.isEmpty {
            let answer = try await sender.send(
                SubscriptionsModify.self, SubscriptionsModify.Request(operations))
            try check(answer.items.count, for: operations.count)
            results = answer.items[...]
        }
        var outcome = SubscriptionsModification()
        for (subscription, save) in zip(subscriptions, saves) {
            let saved = Result<CKSubscription, any Error> {
                // A subscription that cannot be expressed in the protocol fails alone.
                _ = try save.get()
                // The service stores what was sent, so the answer adds nothing to it.
                try AnswerMatching.check(
                    results.popFirst(), subscription.subscriptionID, isDeleted: false)
                return subscription
            }
            outcome.saves.append((subscription.subscriptionID, saved))
        }
        for (subscriptionID, result) in zip(subscriptionIDs, results) {
            let deleted = Result<Void, any Error> {
                try AnswerMatching.check(result, subscriptionID, isDeleted: true)
            }
            outcome.deletions.append((subscriptionID, deleted))
        }
        return outcome
    }

    func subscriptions(
        for subscriptionIDs: [CKSubscription.ID]
    ) async throws -> [FetchedSubscription] {
        guard !subscriptionIDs.isEmpty else { return [] }
        let answer = try await sender.send(
            SubscriptionsLookup.self,
            SubscriptionsLookup.Request(subscriptionIDs: subscriptionIDs))
        try check(answer.items.count, for: subscriptionIDs.count)
        var reader = reader
        return zip(subscriptionIDs, answer.items).map { subscriptionID, result in
            (
                subscriptionID,
                Result {
                    try AnswerMatching.check(result, subscriptionID, isDeleted: false)
                    return try subscription(result, &reader)
                }
            )
        }
    }

    /// All subscriptions of the user in the database. One that cannot be read does not fail the
    /// others.
    func subscriptions() async throws -> [FetchedSubscription] {
        let answer = try await sender.send(SubscriptionsList.self, EmptyBody())
        var reader = reader
        return answer.items.map { result in
            (result.subscriptionID ?? "", Result { try subscription(result, &reader) })
        }
    }

    private func subscription(
        _ result: SubscriptionResult, _ reader: inout RecordReader
    ) throws -> CKSubscription {
        switch result {
        case .subscription(let dictionary):
            return try CKSubscription.read(dictionary, reader: &reader)
        case .deleted(let subscriptionID):
            throw CKError(
                .unknownItem,
                "The subscription \(subscriptionID) was deleted; save it again to be notified.")
        case .failure(_, let error):
            throw CKError(error, about: .subscription)
        }
    }
}

extension SubscriptionResult {
    fileprivate var subscriptionID: String? {
        switch self {
        case .subscription(let subscription): subscription.subscriptionID
        case .deleted(let identifier): identifier
        case .failure(let identifier, _): identifier
        }
    }
}
