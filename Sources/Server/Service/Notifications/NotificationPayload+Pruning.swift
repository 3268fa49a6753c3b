import StratusRecords
import StratusWire

extension NotificationPayload {
    /// The notification without the parts that must be dropped to make it short enough.
    ///
    /// Parts are dropped in the order of CKQueryNotification's and CKRecordZoneNotification's documentation, least
    /// important first: container, record or zone, reason, additional fields from the last, then the contents of `aps`,
    /// from `content-available` to the alert's key and the badge. Title and subtitle, which are newer than that order,
    /// are dropped right before the body.
    func pruned(toBytes limit: Int) -> NotificationPayload {
        guard StratusWire.wireBytes(of: self).count > limit else { return self }
        var payload = self
        payload.isPruned = true
        for drop in Self.drops {
            while drop(&payload) {
                if StratusWire.wireBytes(of: payload).count <= limit { return payload }
            }
        }
        return payload
    }

    /// Each drops one part and says whether there was one.
    private static let drops: [@Sendable (inout NotificationPayload) -> Bool] = [
        { clear(\.containerIdentifier, of: &$0) },
        dropPlace, dropReason, dropField,
        { payload in
            let was = payload.notificationInfo?.shouldSendContentAvailable ?? false
            payload.notificationInfo?.shouldSendContentAvailable = false
            return was
        },
        { clearText(\.category, of: &$0) }, { clearText(\.soundName, of: &$0) },
        { clearText(\.alertLaunchImage, of: &$0) },
        { clearText(\.alertActionLocalizationKey, of: &$0) },
        { clearText(\.subtitle, of: &$0) }, { clearList(\.subtitleLocalizationArgs, of: &$0) },
        { clearText(\.subtitleLocalizationKey, of: &$0) },
        { clearText(\.title, of: &$0) }, { clearList(\.titleLocalizationArgs, of: &$0) },
        { clearText(\.titleLocalizationKey, of: &$0) },
        { clearText(\.alertBody, of: &$0) }, { clearList(\.alertLocalizationArgs, of: &$0) },
        { clearText(\.alertLocalizationKey, of: &$0) },
        { payload in
            let was = payload.notificationInfo?.shouldBadge ?? false
            payload.notificationInfo?.shouldBadge = false
            return was
        },
    ]

    private static func dropPlace(_ payload: inout NotificationPayload) -> Bool {
        switch payload.cause {
        case .query(.some, let reason, _, let fields):
            payload.cause = .query(
                recordName: nil, reason: reason, zoneID: nil, additionalFields: fields)
            return true
        case .zone(.some):
            payload.cause = .zone(nil)
            return true
        default: return false
        }
    }

    private static func dropReason(_ payload: inout NotificationPayload) -> Bool {
        guard case .query(let name, .some, let zoneID, let fields) = payload.cause else {
            return false
        }
        payload.cause = .query(
            recordName: name, reason: nil, zoneID: zoneID, additionalFields: fields)
        return true
    }

    private static func dropField(_ payload: inout NotificationPayload) -> Bool {
        guard case .query(let name, let reason, let zoneID, let fields) = payload.cause,
            !fields.isEmpty
        else { return false }
        payload.cause = .query(
            recordName: name, reason: reason, zoneID: zoneID,
            additionalFields: fields.dropLast())
        return true
    }

    private static func clear(
        _ path: WritableKeyPath<NotificationPayload, String?>, of payload: inout NotificationPayload
    ) -> Bool {
        defer { payload[keyPath: path] = nil }
        return payload[keyPath: path] != nil
    }

    private typealias Info = SubscriptionDictionary.NotificationInfo

    private static func clearText(
        _ path: WritableKeyPath<Info, String?>, of payload: inout NotificationPayload
    ) -> Bool {
        guard payload.notificationInfo?[keyPath: path] != nil else { return false }
        payload.notificationInfo?[keyPath: path] = nil
        return true
    }

    private static func clearList(
        _ path: WritableKeyPath<Info, [String]>, of payload: inout NotificationPayload
    ) -> Bool {
        guard payload.notificationInfo?[keyPath: path].isEmpty == false else { return false }
        payload.notificationInfo?[keyPath: path] = []
        return true
    }
}
