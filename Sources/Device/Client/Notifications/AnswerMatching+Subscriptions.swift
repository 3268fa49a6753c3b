import StratusWire

extension AnswerMatching {
    /// Checks the result of a subscription.
    ///
    /// - Parameter isDeleted: whether the request was to delete it.
    static func check(
        _ result: SubscriptionResult?, _ asked: CKSubscription.ID, isDeleted: Bool
    ) throws {
        switch result {
        case nil: return
        case .subscription(let dictionary):
            try check(dictionary.subscriptionID, asked)
            guard !isDeleted else { throw error(asked: "no \(asked)", answered: asked) }
        case .deleted(let subscriptionID): try check(subscriptionID, asked)
        case .failure(let subscriptionID, let error):
            try check(subscriptionID, asked)
            throw CKError(error, about: .subscription)
        }
    }
}
