import StratusRecords

/// What a device receives: a hint that something changed, without the record, of which
/// it has at most the values of the subscription's additional fields.
///
/// The optional parts may be missing because the notification was too long (``isPruned``).
public struct NotificationPayload: Hashable, Sendable {
    /// Why the notification was sent; the keys `qry`, `fet` and `met` of the payload.
    public enum Cause: Hashable, Sendable {
        /// A query subscription fired (`qry`): for which record, why, and its values of the subscription's additional
        /// fields. Name and zone, or the reason, are nil if they were dropped.
        case query(
            recordName: String?, reason: Reason?, zoneID: ZoneID?, additionalFields: [Field])
        /// A zone subscription fired (`fet`); the zone is nil if it was dropped.
        case zone(ZoneID?)
        /// A database subscription fired (`met`).
        case database
    }

    /// Raw values as in `CKQueryNotification.Reason`.
    public enum Reason: Int, Hashable, Sendable {
        /// The record was created and matches.
        case recordCreated = 1
        /// The record was changed and now matches.
        case recordUpdated = 2
        /// The record matched and was deleted.
        case recordDeleted = 3
    }

    /// The container's identifier; nil if it was dropped, as the first part of a payload that is too long.
    public var containerIdentifier: String?
    /// The same for all notifications of one change.
    public var notificationID: String
    /// The record name of the subscriber; empty if the payload has none.
    public var userRecordName: String
    /// The subscription that fired.
    public var subscriptionID: String
    /// The database as the subscriber sees it: the shared one for a change in another user's zone.
    public var scope: DatabaseScope
    /// The kind of subscription that fired, and what it says of the change.
    public var cause: Cause
    /// What to show, with the record's values as localization arguments; nil if `aps` is absent or empty.
    public var notificationInfo: SubscriptionDictionary.NotificationInfo?
    /// Whether parts were left out or cut because there was no room for them.
    public var isPruned: Bool

    /// Makes a payload, from which nothing was dropped unless ``isPruned`` is set.
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
