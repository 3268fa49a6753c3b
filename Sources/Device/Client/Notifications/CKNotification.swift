import Foundation

/// Makes notifications from what a push service or `CloudConnection.remoteNotifications` delivered.
///
/// A protocol, because a class's own `init` cannot return an instance of a subclass, and that of a
/// protocol extension can.
public protocol RemoteNotificationReading {}

extension RemoteNotificationReading {
    /// Reads a delivered dictionary; the result is an instance of the matching subclass.
    ///
    /// - Returns: nil for a dictionary that is not CloudKit's, or of another kind than requested.
    public init?(fromRemoteNotificationDictionary dictionary: [AnyHashable: Any]) {
        guard let payload = NotificationDictionary(dictionary),
            let notification = payload.notification as? Self
        else { return nil }
        self = notification
    }
}

/// A hint that something changed; the base class of the three kinds.
public class CKNotification: NSObject, RemoteNotificationReading, @unchecked Sendable {
    // `@unchecked Sendable`: all properties are constant, and field values are immutable objects.
    /// The ID of a notification; see ``CKNotificationID``.
    public typealias ID = CKNotificationID

    /// The kind of a notification, by the kind of the subscription that fired.
    public enum NotificationType: Int, Sendable {
        /// From a query subscription: a ``CKQueryNotification``.
        case query = 1
        /// From a zone subscription: a ``CKRecordZoneNotification``.
        case recordZone = 2
        /// A notification that was marked as read, which Apple's API no longer supports; no notification has this type.
        case readNotification = 3
        /// From a database subscription: a ``CKDatabaseNotification``.
        case database = 4
    }

    let payload: NotificationDictionary

    init(_ payload: NotificationDictionary) {
        self.payload = payload
    }

    /// The kind of the notification, which is also its class.
    public var notificationType: NotificationType { payload.kind.type }
    /// The ID of the notification; nil if the dictionary has none.
    public var notificationID: ID? { payload.identifier.map { CKNotificationID($0) } }
    /// The container of the subscription; nil if it was left out, see ``isPruned``.
    public var containerIdentifier: String? { payload.text("cid") }

    /// The user whose subscription fired; nil if the dictionary does not say.
    public var subscriptionOwnerUserRecordID: CKRecord.ID? {
        payload.text("ckuserid").map { CKRecordID(known: $0) }
    }

    /// The ID of the subscription that fired; nil if the dictionary does not say.
    public var subscriptionID: CKSubscription.ID? { payload.detailText("sid") }

    /// Whether parts were left out to make the notification short enough.
    public var isPruned: Bool { payload.cloud["p"] != nil }

    // MARK: What the user is shown

    /// The text of the alert; nil if there is none.
    public var alertBody: String? { payload.alertText("body") }
    /// The key, in the app's localized strings, of the text of the alert.
    public var alertLocalizationKey: String? { payload.alertText("loc-key") }
    /// The values for the placeholders in the localized text of the alert.
    public var alertLocalizationArgs: [String]? { payload.alert["loc-args"] as? [String] }
    /// The title of the alert; nil if there is none.
    public var title: String? { payload.alertText("title") }
    /// The key, in the app's localized strings, of the title of the alert.
    public var titleLocalizationKey: String? { payload.alertText("title-loc-key") }
    /// The values for the placeholders in the localized title.
    public var titleLocalizationArgs: [String]? { payload.alert["title-loc-args"] as? [String] }
    /// The subtitle of the alert; nil if there is none.
    public var subtitle: String? { payload.alertText("subtitle") }
    /// The key, in the app's localized strings, of the subtitle of the alert.
    public var subtitleLocalizationKey: String? { payload.alertText("subtitle-loc-key") }
    /// The values for the placeholders in the localized subtitle.
    public var subtitleLocalizationArgs: [String]? {
        payload.alert["subtitle-loc-args"] as? [String]
    }
    /// The key, in the app's localized strings, of the title of the alert's action button.
    public var alertActionLocalizationKey: String? { payload.alertText("action-loc-key") }
    /// The file name of the image to show while the app is launched from the notification.
    public var alertLaunchImage: String? { payload.alertText("launch-image") }
    /// The number for the badge of the app's icon, 1 from Stratus's service; nil leaves the badge
    /// unchanged.
    public var badge: NSNumber? { payload.aps["badge"] as? NSNumber }
    /// The name of the sound to play; nil for none.
    public var soundName: String? { payload.aps["sound"] as? String }
    /// The identifier of the notification's category, which decides its actions; nil for none.
    public var category: String? { payload.aps["category"] as? String }
}

/// The notification of a query subscription: a record matched its predicate.
public final class CKQueryNotification: CKNotification, @unchecked Sendable {
    // `@unchecked Sendable`: it has no state of its own.
    /// What happened to the record of a query notification.
    public enum Reason: Int, Sendable {
        /// A record that matches the predicate was created.
        case recordCreated = 1
        /// A record was changed that matches the predicate afterwards.
        case recordUpdated = 2
        /// A record that matched the predicate was deleted.
        case recordDeleted = 3
    }

    /// What happened to the record; `.recordUpdated` if it was left out, see ``isPruned``.
    public var queryNotificationReason: Reason {
        payload.detailNumber("fo").flatMap(Reason.init) ?? .recordUpdated
    }

    /// The fields that the subscription requested, by name.
    public var recordFields: [String: Any]? { payload.detail["af"] as? [String: Any] }

    /// The record that the notification is about; nil if it was left out, see ``isPruned``.
    public var recordID: CKRecord.ID? {
        payload.detailText("rid").map {
            CKRecordID(known: $0, zoneID: payload.zoneID ?? .default)
        }
    }

    /// The database of the record; `.private` if the dictionary does not say.
    public var databaseScope: CKDatabase.Scope { payload.scope }
}

/// The notification of a zone subscription: something changed in the zone.
public final class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    // `@unchecked Sendable`: it has no state of its own.
    /// The zone that changed; nil if it was left out, see ``isPruned``.
    public var recordZoneID: CKRecordZone.ID? { payload.zoneID }
    /// The database of the zone; `.private` if the dictionary does not say.
    public var databaseScope: CKDatabase.Scope { payload.scope }
}

/// The notification of a database subscription: something changed in the database.
public final class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    // `@unchecked Sendable`: it has no state of its own.
    /// The database that changed; `.private` if the dictionary does not say.
    public var databaseScope: CKDatabase.Scope { payload.scope }
}

/// The ID of a notification, shared by all notifications of one change. `CKNotification.ID` in
/// code.
public final class CKNotificationID: NSObject, NSSecureCoding, NSCopying, Sendable {
    let text: String

    init(_ text: String) {
        self.text = text
    }

    public override func isEqual(_ object: Any?) -> Bool {
        (object as? CKNotificationID).map { $0.text == text } ?? false
    }

    public override var hash: Int { text.hashValue }

    public override var description: String { "<CKNotificationID: \(text)>" }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    public static var supportsSecureCoding: Bool { true }

    public func encode(with coder: NSCoder) { coder.archive(text, "text") }

    public init?(coder: NSCoder) {
        guard let text = coder.archivedString("text") else { return nil }
        self.text = text
    }
}

/// The older name of ``CKNotification/NotificationType``.
@available(*, deprecated, renamed: "CKNotification.NotificationType")
public typealias CKNotificationType = CKNotification.NotificationType
/// The older name of ``CKQueryNotification/Reason``.
@available(*, deprecated, renamed: "CKQueryNotification.Reason")
public typealias CKQueryNotificationReason = CKQueryNotification.Reason
