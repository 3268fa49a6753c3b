import StratusRecords

/// `subscriptions/list`: all subscriptions of the caller in a database.
public enum SubscriptionsList: Endpoint {
    public static let path = "subscriptions/list"
    public static let isReadWithoutBody = true

    public typealias Request = EmptyBody

    public struct Answer: WireValue {
        public var subscriptions: [SubscriptionResult]

        public init(subscriptions: [SubscriptionResult]) {
            self.subscriptions = subscriptions
        }
    }
}

extension SubscriptionsList.Answer {
    public init(wire node: JSONNode) throws(WireError) {
        self.init(subscriptions: try node.required("subscriptions"))
    }

    public func write(to writer: inout JSONWriter) {
        writer.object { $0.member("subscriptions", subscriptions) }
    }
}
