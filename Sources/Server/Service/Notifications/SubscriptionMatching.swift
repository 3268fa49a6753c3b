import StratusMatching
import StratusQuery
import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

/// The notifications that a subscription causes when something changed.
///
/// A query subscription fires for a record that matches after its creation or update, or before its deletion: an update
/// that makes a record match fires, one that ends the match does not, as with CloudKit. Zone and database subscriptions
/// that name a record type fire for changes of such records, and when a zone is deleted, regardless of its content.
struct SubscriptionMatching {
    let event: OutboxEvent
    /// The database as the subscriber sees it.
    let scope: DatabaseScope
    let address: DatabaseAddress
    /// Identifies the notifications of a change by its number: all of one change have the same identifier.
    let identifier: NotificationIdentifier
    let schema: ContainerSchema
    let limits: Limits
    /// The changes that match a query, since many subscribers have the same query.
    private(set) var matches: [QueryDictionary: [Int]] = [:]
    /// How many records were read, to compare them with queries.
    private(set) var recordsRead = 0

    /// What a subscription is notified of.
    enum Occurrence {
        case database
        case zone
        /// A change of the event, by its index.
        case change(Int)
    }

    /// What a subscription is notified of. This costs little in comparison with the notifications themselves.
    mutating func occurrences(for entry: SubscriptionSummary.Entry) -> [Occurrence] {
        let subscription = entry.subscription
        switch subscription.kind {
        case .database
        where event.zoneName != ZoneID.defaultZoneName && isAbout(subscription.recordType):
            return [.database]
        case .zone
        where subscription.zoneID?.zoneName == event.zoneName && isAbout(subscription.recordType):
            return [.zone]
        case .query:
            return queryOccurrences(for: entry)
        case .database, .zone, nil:
            return []
        }
    }

    func notification(
        of occurrence: Occurrence, for entry: SubscriptionSummary.Entry
    ) -> NotificationPayload {
        switch occurrence {
        case .database: payload(entry, .database, identifier.text(0))
        case .zone: payload(entry, .zone(zoneID), identifier.text(0))
        case .change(let index): queryNotification(for: entry, of: index)
        }
    }

    private func isAbout(_ type: String?) -> Bool {
        type == nil || event.subject == .zoneDeleted
            || event.changes.contains { $0.recordType == type }
    }

    private mutating func queryOccurrences(
        for entry: SubscriptionSummary.Entry
    ) -> [Occurrence] {
        let subscription = entry.subscription
        guard let query = query(of: entry) else { return [] }
        if matches[query] == nil { match([entry]) }
        let access = access(of: entry.user)[query.recordType]
        var occurrences: [Occurrence] = []
        for index in matches[query] ?? []
        where subscription.firesOn.contains(event.changes[index].reason.occasion) {
            guard let row = event.changes[index].row, access.mayRead(row) else { continue }
            occurrences.append(.change(index))
            if subscription.firesOnce { break }
        }
        return occurrences
    }

    /// What a subscriber may read by grants in the database of the event.
    private func access(of user: String) -> RecordAccess {
        address.tenant == .public ? RecordAccess(ofUser: user, schema: schema) : .unrestricted
    }

    /// The query of a subscription; nil when it has none, or is about another zone than the event.
    private func query(of entry: SubscriptionSummary.Entry) -> QueryDictionary? {
        let subscription = entry.subscription
        // The zone is kept only if it narrows the subscription.
        guard subscription.kind == .query,
            subscription.zoneID == nil || subscription.zoneID?.zoneName == event.zoneName
        else { return nil }
        return subscription.query
    }

    /// Compares the changed records with the queries of subscriptions. Each record is read once, and its texts are split
    /// into words once, however many queries there are: one user may have 1,000, and a record a megabyte.
    mutating func match(_ entries: [SubscriptionSummary.Entry]) {
        var matchers: [String: [(query: QueryDictionary, matcher: RecordMatcher)]] = [:]
        for entry in entries {
            guard let query = query(of: entry), matches[query] == nil else { continue }
            matches[query] = []
            // A query that does not fit today's schema matches nothing. Only a hint is lost: the change itself is
            // still fetched.
            guard let matcher = try? RecordMatcher(query, schema: schema, isLenient: true) else {
                continue
            }
            matchers[query.recordType, default: []].append((query, matcher))
        }
        guard !matchers.isEmpty else { return }
        let names = matchers.mapValues { queries in
            Set(queries.flatMap { $0.matcher.fieldNames }).sorted()
        }
        for index in event.changes.indices {
            guard let row = event.changes[index].row, let queries = matchers[row.type] else {
                continue
            }
            recordsRead += 1
            // Stored bytes that cannot be read match nothing; the request that fetches the record reports them.
            guard let values = try? RecordValues(row, readingFields: names[row.type]) else {
                continue
            }
            var words: [String: Set<[UInt8]>] = [:]
            for (query, matcher) in queries {
                if matcher.matches(values, words: &words) { matches[query]?.append(index) }
            }
        }
    }

    private func queryNotification(
        for entry: SubscriptionSummary.Entry, of index: Int
    ) -> NotificationPayload {
        let change = event.changes[index]
        let info = entry.subscription.notificationInfo
        var fields: [Field] = []
        if let row = change.row, info?.namesFields == true {
            // The fields cannot be read; the notification is still a hint without them.
            fields = (try? RecordFields.encoded(row.payload).values()) ?? []
        }
        let texts = NotificationFields(fields, textCharacters: limits.notificationFieldCharacters)
        let wanted = texts.values(named: info?.additionalFields ?? [])
        var notification = payload(
            entry,
            .query(
                recordName: change.recordName, reason: change.reason, zoneID: zoneID,
                additionalFields: wanted.fields),
            identifier.text(index))
        notification.isPruned = wanted.isCut
        notification.notificationInfo?.fillArguments { texts.text($0) }
        return notification.pruned(toBytes: limits.notificationBytes)
    }

    private func payload(
        _ entry: SubscriptionSummary.Entry, _ cause: NotificationPayload.Cause,
        _ identifier: String
    ) -> NotificationPayload {
        var payload = NotificationPayload(
            containerIdentifier: address.containerAddress.container, notificationID: identifier,
            userRecordName: entry.user, subscriptionID: entry.identifier, scope: scope,
            cause: cause,
            // A subscription without anything to show sends a silent notification.
            notificationInfo: entry.subscription.notificationInfo
                ?? .init(shouldSendContentAvailable: true))
        if case .query = cause { return payload }
        // There is no record and so no fields: the placeholders in the text get nothing.
        payload.notificationInfo?.fillArguments { _ in "" }
        return payload.pruned(toBytes: limits.notificationBytes)
    }

    private var zoneID: ZoneID {
        guard let owner = address.owner else { return ZoneID(name: event.zoneName) }
        return ZoneID(name: event.zoneName, ownerName: owner)
    }
}
