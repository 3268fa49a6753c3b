import StratusRecords

/// `subscriptions/modify`: creates, replaces and deletes subscriptions of the caller.
public enum SubscriptionsModify: Endpoint {
    public static let path = "subscriptions/modify"

    public struct Request: WireObject, Hashable, Sendable {
        public var operations: [Operation] = []

        public init(operations: [Operation]) {
            self.operations = operations
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("operations", &operations)
        }
    }

    public struct Operation: WireValue {
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

extension SubscriptionsModify.Operation {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        self.init(try node.requiredWord("operationType"), try node.required("subscription"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("operationType", kind.rawValue)
            writer.member("subscription", subscription)
        }
    }
}
