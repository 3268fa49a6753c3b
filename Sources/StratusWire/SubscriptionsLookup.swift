import StratusRecords

/// `subscriptions/lookup`: fetches subscriptions of the caller by identifier.
public enum SubscriptionsLookup: Endpoint {
    public static let path = "subscriptions/lookup"

    public struct Request: Hashable, Sendable {
        public var subscriptionIDs: [String]

        public init(subscriptionIDs: [String]) {
            self.subscriptionIDs = subscriptionIDs
        }
    }

    public typealias Answer = SubscriptionsList.Answer
}
