import StratusRecords
import StratusStorage
import StratusWire

/// A notification and its destination.
struct Delivery: Sendable {
    var device: DeviceRow
    var payload: NotificationPayload
    /// A repeated delivery, for a fault script.
    var isRepeated = false

    /// What two notifications with the same content for one device have in common.
    struct Key: Hashable {
        var pushToken: String
        var channel: DeviceRow.Channel
        var subject: NotificationPayload.Subject
    }

    var key: Key {
        Key(pushToken: device.pushToken, channel: device.channel, subject: payload.subject)
    }
}

extension NotificationPayload {
    /// What a notification is about: an older one about the same adds nothing to a newer one.
    struct Subject: Hashable {
        var containerIdentifier: String?
        var userRecordName: String
        var subscriptionID: String
        var scope: DatabaseScope
        /// Nil for a zone or database, whose notification only says that it changed.
        var notificationID: String?
        var zoneID: ZoneID?
    }

    var subject: Subject {
        var subject = Subject(
            containerIdentifier: containerIdentifier, userRecordName: userRecordName,
            subscriptionID: subscriptionID, scope: scope)
        switch cause {
        case .query: subject.notificationID = notificationID
        case .zone(let zoneID): subject.zoneID = zoneID
        case .database: break
        }
        return subject
    }
}
