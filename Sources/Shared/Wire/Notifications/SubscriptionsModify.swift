import StratusRecords

/// `subscriptions/modify`: creates, replaces and deletes subscriptions of the caller.
public enum SubscriptionsModify: Endpoint {
    public static let path = "subscriptions/modify"

    public typealias Request = ListBody<Operation>

    /// A save or a deletion of one subscription; a request has each subscription once.
    public struct Operation: WireObject, ListItem {
        /// What an operation does; ``create`` and ``update`` do the same.
        public enum Kind: String, WireWord, Hashable, Sendable {
            /// Saves the subscription and replaces a stored one with its identifier.
            case create
            /// Saves the subscription and replaces a stored one with its identifier.
            case update
            /// Deletes the subscription; a missing one is `NOT_FOUND`.
            case delete
        }

        public static let listKey: StaticString = "operations"

        /// What to do with the subscription.
        public var kind = Kind.create
        /// The subscription to save; of one to delete only the identifier.
        public var subscription = SubscriptionDictionary(subscriptionID: nil, kind: nil)

        /// Makes an operation that saves or deletes a subscription.
        public init(_ kind: Kind, _ subscription: SubscriptionDictionary) {
            self.kind = kind
            self.subscription = subscription
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("operationType", &kind)
            try coder.required("subscription", &subscription)
        }
    }

    /// One result per operation, in the request's order.
    public typealias Answer = SubscriptionsList.Answer
}
