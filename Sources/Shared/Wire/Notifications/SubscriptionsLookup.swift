import StratusRecords

/// `subscriptions/lookup`: fetches subscriptions of the caller by identifier.
public enum SubscriptionsLookup: Endpoint {
    public static let path = "subscriptions/lookup"

    public typealias Answer = SubscriptionsList.Answer

    public struct Request: WireValue {
        /// The subscriptions to fetch, each an object in JSON; at most `Limits.operationsPerRequest`.
        public var subscriptionIDs: [String]

        /// Makes a request for subscriptions by identifier.
        public init(subscriptionIDs: [String]) {
            self.subscriptionIDs = subscriptionIDs
        }
    }
}

extension SubscriptionsLookup.Request {
    public init(wire node: JSONNode) throws(WireError) {
        try node.expectObject()
        let items: [SubscriptionDictionary] = try node.required("subscriptions")
        var identifiers: [String] = []
        for item in items {
            guard let identifier = item.subscriptionID else {
                throw WireError("This key is required.", at: "subscriptionID")
                    .within(index: identifiers.count).within("subscriptions")
            }
            identifiers.append(identifier)
        }
        self.init(subscriptionIDs: identifiers)
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("subscriptions")
            writer.array { writer in
                for identifier in subscriptionIDs {
                    writer.object { $0.member("subscriptionID", identifier) }
                }
            }
        }
    }
}
