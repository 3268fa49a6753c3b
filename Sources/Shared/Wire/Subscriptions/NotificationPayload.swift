import StratusRecords

/// What a device receives: a hint that something changed, never the data itself.
///
/// The optional parts may be missing because the notification was too long (``isPruned``).
public struct NotificationPayload: Hashable, Sendable {
    /// Why the notification was sent; the keys `qry`, `fet` and `met` of the payload.
    public enum Cause: Hashable, Sendable {
        case query(
            recordName: String?, reason: Reason?, zoneID: ZoneID?, additionalFields: [Field])
        case zone(ZoneID?)
        case database
    }

    /// Raw values as in `CKQueryNotification.Reason`.
    public enum Reason: Int, Hashable, Sendable {
        case recordCreated = 1
        case recordUpdated = 2
        case recordDeleted = 3
    }

    public var containerIdentifier: String?
    /// The same for all notifications of one change.
    public var notificationID: String
    public var userRecordName: String
    public var subscriptionID: String
    public var scope: DatabaseScope
    public var cause: Cause
    public var notificationInfo: SubscriptionDictionary.NotificationInfo?
    /// Whether parts were left out or cut because there was no room for them.
    public var isPruned: Bool

    public init(
        containerIdentifier: String?, notificationID: String, userRecordName: String,
        subscriptionID: String, scope: DatabaseScope, cause: Cause,
        notificationInfo: SubscriptionDictionary.NotificationInfo?, isPruned: Bool = false
    ) {
        self.containerIdentifier = containerIdentifier
        self.notificationID = notificationID
        self.userRecordName = userRecordName
        self.subscriptionID = subscriptionID
        self.scope = scope
        self.cause = cause
        self.notificationInfo = notificationInfo
        self.isPruned = isPruned
    }
}
