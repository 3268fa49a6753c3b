import StratusMatching
import StratusQuery
import StratusRecords
import StratusSchema
import StratusStorage
import StratusWire

extension SubscriptionsModify: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: false,
        cost: { Double($0.items.count) / 10 }, zones: { _ in [] }, link: { _, _ in })

    /// Saving under an identifier that exists replaces the subscription.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try call.context.checkCount(call.request.items.count)
        let operations = call.request.items.map { operation in
            var operation = operation
            if operation.kind != .delete, operation.subscription.subscriptionID == nil {
                operation.subscription.subscriptionID = call.components.settings.world.newUUID()
            }
            return operation
        }
        let identifiers = operations.compactMap(\.subscription.subscriptionID)
        var seen: Set<String> = []
        if let twice = identifiers.first(where: { !seen.insert($0).inserted }) {
            throw ServiceError.invalid(
                """
                The subscription '\(twice.prefix(255))' is named in two operations of the request; name \
                it in one.
                """)
        }
        let subscriber = try await call.context.subscriber(in: call.components.databases)
        let repeated = try IdempotencyRecord(
            nil, orSigned: call.context.caller.signedRequest,
            of: call.request.items.map {
                .init(kind: $0.kind.rawValue, recordName: $0.subscription.subscriptionID)
            }, in: call.context)
        return try await call.components.subscriptions.changing(in: subscriber.store.address) {
            try await subscriber.store.write { writer -> Answer in
                if var outcome = try repeated?.outcome(in: writer) {
                    return try readWire(Answer.self, from: try outcome.counted())
                }
                var changes = try SubscriptionChanges(
                    writer: writer, context: call.context, subscriber: subscriber.name)
                let answer = Answer(
                    try operations.map { operation in
                        do {
                            return try changes.apply(operation)
                        } catch let error as ServiceError {
                            let identifier = operation.subscription.subscriptionID
                            return .failure(subscriptionID: identifier, error)
                        }
                    })
                if let repeated {
                    var outcome = ByteWriter()
                    outcome.write(counted: wireBytes(of: answer))
                    try repeated.keep(
                        outcome.bytes, in: writer, nowMilliseconds: call.context.nowMilliseconds)
                }
                return answer
            }
        }
    }
}

/// Stores and removes subscriptions inside one transaction.
private struct SubscriptionChanges {
    let writer: any StoreWriter
    let context: RequestContext
    let subscriber: String
    /// Nil for a stored subscription that cannot be read: it can be replaced and deleted like any other.
    var stored: [String: SubscriptionDictionary?]
    /// The stored rows, by identifier.
    private var rows: [String: SubscriptionRow] = [:]

    init(writer: any StoreWriter, context: RequestContext, subscriber: String) throws {
        self.writer = writer
        self.context = context
        self.subscriber = subscriber
        stored = [:]
        for row in try writer.subscriptions(of: subscriber) {
            // A subscription of another release that this one cannot read is not equal to any other.
            stored.updateValue(try? row.subscription(), forKey: row.identifier)
            rows[row.identifier] = row
        }
    }

    mutating func apply(_ operation: SubscriptionsModify.Operation) throws -> SubscriptionResult {
        guard let identifier = operation.subscription.subscriptionID,
            (1...255).contains(identifier.utf8.count)
        else {
            throw ServiceError.invalid(
                "The subscriptionID is missing, empty or longer than 255 bytes; give it 1 to 255.")
        }
        if operation.kind == .delete {
            guard stored.removeValue(forKey: identifier) != nil else {
                throw ServiceError.subscriptionNotFound
            }
            rows[identifier] = nil
            try writer.deleteSubscription(identifier, of: subscriber)
            return .deleted(subscriptionID: identifier)
        }
        let subscription = try checked(operation.subscription)
        guard stored[identifier] != nil || stored.count < context.limits.subscriptionsPerUser else {
            throw ServiceError.overLimit(
                "The user has \(context.limits.subscriptionsPerUser) subscriptions in the database, the"
                    + " most allowed; delete some first.")
        }
        let isDuplicate = stored.contains { other, stored in
            other != identifier && stored.map(subscription.isSame) == true
        }
        guard !isDuplicate else { throw ServiceError.duplicateSubscription }
        let row = SubscriptionRow(
            user: subscriber, identifier: identifier, subscription: subscription)
        // Apps save their subscriptions at every start: one that is stored already needs no write.
        if row == rows[identifier], let known = stored[identifier], known != nil {
            return .subscription(subscription)
        }
        guard row.body.count <= context.limits.subscriptionBytes else {
            throw ServiceError.overLimit(
                "The subscription is larger than \(context.limits.subscriptionBytes) bytes; give it"
                    + " shorter texts and filters.")
        }
        try checkRoom(for: row)
        do {
            _ = try row.subscription()
        } catch {
            // A subscription that could not be read again must not be stored: no one could see what fires.
            throw ServiceError.invalid(
                "The subscription could not be read again as it was sent; change its query.")
        }
        stored[identifier] = subscription
        rows[identifier] = row
        try writer.put(row)
        return .subscription(subscription)
    }

    /// A user's subscriptions are kept in memory together. One that becomes shorter is always accepted.
    private func checkRoom(for row: SubscriptionRow) throws {
        let limitBytes = Self.largestPerUser * context.limits.subscriptionBytes
        let oldBytes = rows[row.identifier]?.body.count ?? 0
        let storedBytes = rows.values.reduce(0) { $0 + $1.body.count }
        guard row.body.count <= oldBytes || storedBytes - oldBytes + row.body.count <= limitBytes
        else {
            throw ServiceError.overLimit(
                "The user's subscriptions in the database would have more than \(limitBytes) bytes"
                    + " together; delete some first, or give this one shorter texts and filters.")
        }
    }

    /// How many subscriptions of the largest size a user may have in a database.
    private static let largestPerUser = 16

    /// The subscription as it is stored, if this database accepts it: query subscriptions are for the public and
    /// private database, zone subscriptions for custom zones of the private one, database subscriptions for the private
    /// and shared one.
    private func checked(_ subscription: SubscriptionDictionary) throws -> SubscriptionDictionary {
        try checkInfo(subscription)
        switch (subscription.kind, context.scope) {
        case (.query, .public), (.query, .private): return try checkedQuery(subscription)
        case (.zone, .private): return try checkedZone(subscription)
        case (.database, .private), (.database, .shared): return subscription
        case (nil, _):
            throw ServiceError.invalid(
                "The subscription has no type; give it query, zone or database.")
        default:
            throw ServiceError.wrongDatabase(
                """
                The database does not take subscriptions of this type: the public one takes query, the \
                private one query, zone and database, and the shared one database.
                """)
        }
    }

    private func checkInfo(_ subscription: SubscriptionDictionary) throws {
        if let info = subscription.notificationInfo {
            guard info.additionalFields.count <= context.limits.additionalFieldsPerNotification
            else {
                throw ServiceError.overLimit(
                    "The subscription names more than"
                        + " \(context.limits.additionalFieldsPerNotification) additional fields; name fewer."
                )
            }
        }
        if let type = subscription.recordType, !Names.isIdentifier(type),
            type != ShareDictionary.recordType
        {
            throw ServiceError.recordTypeName(type)
        }
        try checkFieldNames(in: subscription.query)
    }

    /// An empty field name means all searchable fields, which only a search for words can use. In any other filter it
    /// would be written as no name at all.
    private func checkFieldNames(in query: QueryDictionary?) throws {
        let filters = query?.filterBy ?? []
        let isNamed = filters.allSatisfy { filter in
            let isSearch = [.containsAllTokens, .containsAnyTokens].contains(filter.comparator)
            return isSearch || filter.field != .anySearchable
        }
        guard isNamed, query?.sortBy.allSatisfy({ $0.field != .anySearchable }) ?? true else {
            throw ServiceError.invalid(
                "A filter or sort key of the subscription names no field; name one.")
        }
    }

    private func checkedQuery(
        _ subscription: SubscriptionDictionary
    ) throws -> SubscriptionDictionary {
        guard subscription.query?.recordType != UsersRecord.type else {
            throw ServiceError.systemType
        }
        guard let query = subscription.query, Names.isIdentifier(query.recordType) else {
            throw ServiceError.invalid(
                "The query subscription has no query with a record type; give it one.")
        }
        guard !subscription.firesOn.isEmpty else {
            throw ServiceError.invalid(
                "The subscription does not say on which changes it fires; name them in firesOn.")
        }
        try context.checkLength(of: query)
        _ = try RecordMatcher(query, schema: ContainerSchema(), isLenient: true)
        var subscription = subscription
        subscription.query = query.naming(context.caller.userRecordName)
        if subscription.isZoneWide == true {
            subscription.zoneID = nil
        } else if let zoneID = subscription.zoneID {
            subscription.zoneID = try existing(zoneID)
            subscription.isZoneWide = false
        } else if subscription.isZoneWide == false {
            subscription.zoneID = try existing(ZoneIDDictionary(zoneName: ZoneID.defaultZoneName))
        } else {
            subscription.isZoneWide = true
        }
        return subscription
    }

    private func checkedZone(
        _ subscription: SubscriptionDictionary
    ) throws -> SubscriptionDictionary {
        guard let zoneID = subscription.zoneID, zoneID.zoneName != ZoneID.defaultZoneName else {
            throw ServiceError.invalid("A zone subscription names no custom zone; name one.")
        }
        var subscription = subscription
        subscription.zoneID = try existing(zoneID)
        return subscription
    }

    private func existing(_ zoneID: ZoneIDDictionary) throws -> ZoneIDDictionary {
        guard let name = context.zoneName(zoneID), try writer.livingZone(named: name) != nil else {
            throw ServiceError.zoneNotFound
        }
        return context.zoneID(name)
    }
}

extension SubscriptionDictionary {
    /// Whether two query subscriptions would always fire together.
    fileprivate func isSame(as other: SubscriptionDictionary) -> Bool {
        kind == .query && other.kind == .query && query == other.query
            && Set(firesOn) == Set(other.firesOn) && zoneID == other.zoneID
    }
}
