import StratusRecords

/// `subscriptions/modify`: creates, replaces and deletes subscriptions of the caller.
public enum SubscriptionsModify: Endpoint {
    public static let path = "subscriptions/modify"

    public typealias Request = ListBody<Operation>

    public struct Operation: WireObject, ListItem {
        public enum Kind: String, WireWord, Hashable, Sendable {
            case create
            case update
            case delete
        }

        public static let listKey: StaticString = "operations"

        public var kind = Kind.create
        public var subscription = SubscriptionDictionary(subscriptionID: nil, kind: nil)

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
