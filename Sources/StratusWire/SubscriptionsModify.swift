import StratusRecords

/// `subscriptions/modify`: creates, replaces and deletes subscriptions of the caller.
public enum SubscriptionsModify: Endpoint {
    public static let path = "subscriptions/modify"

    public struct Request: Hashable, Sendable {
        public var operations: [Operation]

        public init(operations: [Operation]) {
            self.operations = operations
        }
    }

    public struct Operation: Hashable, Sendable {
        public enum Kind: String, Hashable, Sendable {
            case create
            case update
            case delete
        }

        public var kind: Kind
        public var subscription: SubscriptionDictionary

        public init(_ kind: Kind, _ subscription: SubscriptionDictionary) {
            self.kind = kind
            self.subscription = subscription
        }
    }

    /// One result per operation, in the request's order.
    public typealias Answer = SubscriptionsList.Answer
}
