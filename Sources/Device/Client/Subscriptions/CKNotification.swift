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
    public typealias ID = CKNotificationID

    public enum NotificationType: Int, Sendable {
        case query = 1
        case recordZone = 2
        case readNotification = 3
        case database = 4
    }

    let payload: NotificationDictionary

    init(_ payload: NotificationDictionary) {
        self.payload = payload
    }

    public var notificationType: NotificationType { payload.kind.type }
    public var notificationID: ID? { payload.identifier.map { CKNotificationID($0) } }
    public var containerIdentifier: String? { payload.text("cid") }

    public var subscriptionOwnerUserRecordID: CKRecord.ID? {
        payload.text("ckuserid").map { CKRecordID(known: $0) }
    }

    public var subscriptionID: CKSubscription.ID? { payload.detailText("sid") }

    /// Whether parts were left out to make the notification short enough.
    public var isPruned: Bool { payload.cloud["p"] != nil }

    // MARK: What the user is shown

    public var alertBody: String? { payload.alertText("body") }
    public var alertLocalizationKey: String? { payload.alertText("loc-key") }
    public var alertLocalizationArgs: [String]? { payload.alert["loc-args"] as? [String] }
    public var title: String? { payload.alertText("title") }
    public var titleLocalizationKey: String? { payload.alertText("title-loc-key") }
    public var titleLocalizationArgs: [String]? { payload.alert["title-loc-args"] as? [String] }
    public var subtitle: String? { payload.alertText("subtitle") }
    public var subtitleLocalizationKey: String? { payload.alertText("subtitle-loc-key") }
    public var subtitleLocalizationArgs: [String]? {
        payload.alert["subtitle-loc-args"] as? [String]
    }
    public var alertActionLocalizationKey: String? { payload.alertText("action-loc-key") }
    public var alertLaunchImage: String? { payload.alertText("launch-image") }
    public var badge: NSNumber? { payload.aps["badge"] as? NSNumber }
    public var soundName: String? { payload.aps["sound"] as? String }
    public var category: String? { payload.aps["category"] as? String }
}

/// The notification of a query subscription: a record matched its predicate.
public final class CKQueryNotification: CKNotification, @unchecked Sendable {
    // `@unchecked Sendable`: it has no state of its own.
    public enum Reason: Int, Sendable {
        case recordCreated = 1
        case recordUpdated = 2
        case recordDeleted = 3
    }

    public var queryNotificationReason: Reason {
        payload.detailNumber("fo").flatMap(Reason.init) ?? .recordUpdated
    }

    /// The fields that the subscription asked for, by name.
    public var recordFields: [String: Any]? { payload.detail["af"] as? [String: Any] }

    public var recordID: CKRecord.ID? {
        payload.detailText("rid").map {
            CKRecordID(known: $0, zoneID: payload.zoneID ?? .default)
        }
    }

    public var databaseScope: CKDatabase.Scope { payload.scope }
}

/// The notification of a zone subscription: something changed in the zone.
public final class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
    // `@unchecked Sendable`: it has no state of its own.
    public var recordZoneID: CKRecordZone.ID? { payload.zoneID }
    public var databaseScope: CKDatabase.Scope { payload.scope }
}

/// The notification of a database subscription: something changed in the database.
public final class CKDatabaseNotification: CKNotification, @unchecked Sendable {
    // `@unchecked Sendable`: it has no state of its own.
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

@available(*, deprecated, renamed: "CKNotification.NotificationType")
public typealias CKNotificationType = CKNotification.NotificationType
@available(*, deprecated, renamed: "CKQueryNotification.Reason")
public typealias CKQueryNotificationReason = CKQueryNotification.Reason
