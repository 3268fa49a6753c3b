import StratusRecords

/// `subscriptions/list`: all subscriptions of the caller in a database.
public enum SubscriptionsList: Endpoint {
    public static let path = "subscriptions/list"
    public static let isReadWithoutBody = true

    public typealias Request = EmptyBody

    public typealias Answer = ListBody<SubscriptionResult>
}
