import StratusRecords

/// `subscriptions/list`: all subscriptions of the caller in a database.
public enum SubscriptionsList: Endpoint {
    public static let path = "subscriptions/list"
    public static let isReadWithoutBody = true

    public typealias Request = EmptyBody

    public struct Answer: WireObject, Hashable, Sendable {
        public var subscriptions: [SubscriptionResult] = []

        public init(subscriptions: [SubscriptionResult]) {
            self.subscriptions = subscriptions
        }

        public init() {}

        public mutating func members<C: WireCoder & ~Copyable>(_ coder: inout C) throws(C.Failure) {
            try coder.required("subscriptions", &subscriptions)
        }
    }
}
