import StratusRecords
import StratusStorage
import StratusWire

/// Which notifications a subscription gives rise to when something changed.
struct NewsMatching {
    let news: News
    let address: DatabaseAddress
    /// Shared by all notifications of one change.
    let notificationID: String
    let schema: ContainerSchema
    let limits: Limits

    func notifications(for entry: SubscriptionSummary.Entry) -> [NotificationPayload] {
        let subscription = entry.subscription
        let isCustomZone = news.zoneName != ZoneID.defaultZoneName
        switch subscription.kind {
        case .database where isCustomZone && isAboutType(subscription.recordType):
            return [payload(entry, .database)]
        case .zone
        where subscription.zoneID?.zoneName == news.zoneName
            && isAboutType(subscription.recordType):
            return [payload(entry, .zone(zoneID))]
        case .query:
            return queryNotifications(for: entry)
        case .database, .zone, nil:
            return []
        }
    }

    private func isAboutType(_ type: String?) -> Bool {
        type == nil || news.changes.contains { $0.recordType == type }
    }

    private func queryNotifications(
        for entry: SubscriptionSummary.Entry
    ) -> [NotificationPayload] {
        let subscription = entry.subscription
        guard let query = subscription.query,
            subscription.zoneID == nil || subscription.zoneID?.zoneName == news.zoneName,
            // A query that cannot be run against today's schema matches nothing.
            let matcher = try? RecordMatcher(
                query, schema: schema, access: access(of: entry.user)[query.recordType],
                isLenient: true)
        else { return [] }
        let matches = news.changes.lazy.filter { change in
            guard change.recordType == query.recordType,
                subscription.firesOn.contains(change.reason.occasion), let row = change.row
            else { return false }
            // Stored bytes that cannot be read match nothing; whoever fetches the record is told.
            return (try? matcher.matches(row)) ?? false
        }
        let payloads = matches.map { change -> NotificationPayload in
            let wanted = additionalFields(of: change, for: subscription)
            let fields = fitting(wanted)
            var notification = payload(
                entry,
                .query(
                    recordName: change.recordName, reason: change.reason, zoneID: zoneID,
                    additionalFields: fields))
            notification.isPruned = fields.count < wanted.count
            return notification
        }
        return Array(subscription.firesOnce ? payloads.prefix(1) : payloads.prefix(.max))
    }

    /// What grants let a subscriber read in the database of the news.
    private func access(of user: String) -> RecordAccess {
        address.tenant == .public ? RecordAccess(ofUser: user, schema: schema) : .unrestricted
    }

    private func additionalFields(
        of change: News.Change, for subscription: SubscriptionDictionary
    ) -> [Field] {
        guard let row = change.row, let wanted = subscription.notificationInfo?.additionalFields,
            !wanted.isEmpty
        else { return [] }
        // A notification without its extra fields is still the hint it has to be.
        let fields = (try? RecordFields.encoded(row.payload).values()) ?? []
        return fields.filter { wanted.contains($0.name) }
    }

    /// As many of the fields as a notification has room for: it waits in memory, and is a hint.
    private func fitting(_ fields: [Field]) -> [Field] {
        var bytes = 0
        return Array(
            fields.prefix { field in
                bytes += RecordFields.values([field]).encoded().count
                return bytes <= limits.notificationFieldBytes
            })
    }

    private func payload(
        _ entry: SubscriptionSummary.Entry, _ cause: NotificationPayload.Cause
    ) -> NotificationPayload {
        NotificationPayload(
            containerIdentifier: address.containerAddress.container,
            notificationID: notificationID, userRecordName: entry.user,
            subscriptionID: entry.identifier, scope: scope, cause: cause,
            notificationInfo: entry.subscription.notificationInfo)
    }

    private var scope: DatabaseScope {
        switch address.tenant {
        case .public: .public
        case .private: .private
        }
    }

    private var zoneID: ZoneID {
        switch address.tenant {
        case .public: ZoneID(name: news.zoneName)
        case .private(let owner): ZoneID(name: news.zoneName, ownerName: owner)
        }
    }
}
