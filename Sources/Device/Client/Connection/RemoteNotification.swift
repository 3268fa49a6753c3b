import Foundation
import StratusRecords
import StratusRuntime
import StratusWire

/// A hint from the service that something changed.
public struct RemoteNotification: Sendable {
    package let payload: NotificationPayload

    package init(payload: NotificationPayload) {
        self.payload = payload
    }

    /// The ID of the subscription that the notification is for.
    public var subscriptionID: String { payload.subscriptionID }

    /// The dictionary that an app gives to `CKNotification(fromRemoteNotificationDictionary:)`.
    ///
    /// Its keys are those that Apple's push service delivers.
    public var userInfo: [AnyHashable: Any] {
        var cloud: [String: Any] = [
            "ce": 2, "nid": payload.notificationID, "ckuserid": payload.userRecordName,
        ]
        cloud["cid"] = payload.containerIdentifier
        if payload.isPruned { cloud["p"] = 1 }
        var cause: [String: Any] = [
            "sid": payload.subscriptionID, "dbs": payload.scope.rawValue,
        ]
        switch payload.cause {
        case .query(let recordName, let reason, let zoneID, let fields):
            cause["rid"] = recordName
            cause["fo"] = reason?.rawValue
            cause["zid"] = zoneID?.name
            cause["zoid"] = zoneID?.ownerName
            var values: [String: Any] = [:]
            for field in fields {
                values[field.name] = field.value.flatMap { StoredValue.wire($0).object }
            }
            if !values.isEmpty { cause["af"] = values }
            cloud["qry"] = cause
        case .zone(let zoneID):
            cause["zid"] = zoneID?.name
            cause["zoid"] = zoneID?.ownerName
            cloud["fet"] = cause
        case .database:
            cloud["met"] = cause
        }
        return ["ck": cloud, "aps": payload.notificationInfo.map(Self.aps) ?? [String: Any]()]
    }

    private static func aps(_ info: SubscriptionDictionary.NotificationInfo) -> [String: Any] {
        var alert: [String: Any] = [:]
        alert["body"] = info.alertBody
        alert["loc-key"] = info.alertLocalizationKey
        if !info.alertLocalizationArgs.isEmpty { alert["loc-args"] = info.alertLocalizationArgs }
        alert["title"] = info.title
        alert["title-loc-key"] = info.titleLocalizationKey
        if !info.titleLocalizationArgs.isEmpty {
            alert["title-loc-args"] = info.titleLocalizationArgs
        }
        alert["subtitle"] = info.subtitle
        alert["subtitle-loc-key"] = info.subtitleLocalizationKey
        if !info.subtitleLocalizationArgs.isEmpty {
            alert["subtitle-loc-args"] = info.subtitleLocalizationArgs
        }
        alert["action-loc-key"] = info.alertActionLocalizationKey
        alert["launch-image"] = info.alertLaunchImage
        var aps: [String: Any] = [:]
        if !alert.isEmpty { aps["alert"] = alert }
        aps["sound"] = info.soundName
        aps["category"] = info.category
        if info.shouldBadge { aps["badge"] = 1 }
        if info.shouldSendContentAvailable { aps["content-available"] = 1 }
        if info.shouldSendMutableContent { aps["mutable-content"] = 1 }
        return aps
    }
}

/// An event of ``CloudConnection/remoteNotifications(container:)``.
public enum RemoteNotificationEvent: Sendable {
    /// The listener is registered from now on. Earlier notifications may have been missed: fetch
    /// once.
    case listening
    /// A notification arrived: fetch the changes that it hints at.
    case notification(RemoteNotification)
}

/// An event of a listener's channel, including interruptions.
package enum ChannelEvent: Sendable {
    /// The listener is registered from now on; earlier notifications may have been missed.
    case opened
    case notification(RemoteNotification)
    /// The channel was interrupted; the listener tries to register again.
    case closed
}
