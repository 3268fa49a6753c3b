import Logging
import StratusRecords
import StratusStorage
import StratusWire

/// One round of dispatching a database's outbox: notifications are collected, then delivered.
///
/// Several changes of a zone or database are one notification for each device and subscription.
struct OutboxDispatch {
    private let notifications: Notifications
    private let store: any RecordStore
    private let cursor: Notifications.Cursor
    private var deliveries = Deliveries()
    private var devices: [String: [DeviceRow]] = [:]
    private var eventCount = 0
    private let earlierBacklogRounds: Int

    /// Notifications that are collected before they are delivered.
    private static let gathered = 1_000
    /// Events that are read at a time.
    private static let rowsPerRead = 100

    /// - Parameter backlogRounds: How many rounds before this one had a backlog.
    init(
        _ notifications: Notifications, of store: any RecordStore, cursor: Notifications.Cursor,
        backlogRounds: Int
    ) {
        earlierBacklogRounds = backlogRounds
        self.notifications = notifications
        self.store = store
        self.cursor = cursor
    }

    /// How many rounds in a row had a backlog: as many events as one read returns, or more. 0 when this one had none.
    var backlogRounds: Int { eventCount >= Self.rowsPerRead ? earlierBacklogRounds + 1 : 0 }

    mutating func run() async throws {
        var through = cursor.through
        while true {
            let after = through
            let rows = try await store.read { reader in
                try reader.outbox(after: after, limit: Self.rowsPerRead)
            }
            eventCount += rows.count
            for row in rows {
                try await match(row)
                through = row.identifier
                if deliveries.count >= Self.gathered { await handOver(through) }
            }
            if rows.count < Self.rowsPerRead { break }
        }
        await handOver(through)
    }

    private mutating func handOver(_ through: Int64) async {
        let gathered = deliveries.take()
        if !gathered.isEmpty {
            await notifications.coalescing.deliver(gathered, backlogRounds: backlogRounds)
        }
        cursor.advance(through: through)
    }

    private mutating func match(_ row: OutboxRow) async throws {
        let identifier = NotificationIdentifier(
            address: store.address, epoch: row.epoch, row: row.identifier)
        if let event = ShareEvent(bytes: row.body) {
            return try await gatherForParticipants(event, identifier)
        }
        let event: OutboxEvent
        do {
            event = try OutboxEvent(bytes: row.body)
        } catch {
            // Damaged, or in the format of another version. Its row is removed like any other, so that only the log
            // can say that it was there.
            return notifications.settings.logger.warning(
                "An event of the outbox cannot be read. Devices are not notified of it; they get the change when they fetch.",
                metadata: ["database": "\(store.address)", "event": "\(row.identifier)"])
        }
        let summary = try await notifications.subscriptions.summary(of: store)
        try await gather(
            summary.entries(concerning: event), event,
            store.address.owner == nil ? .public : .private,
            identifier, in: store)
    }

    private mutating func gatherForParticipants(
        _ event: ShareEvent, _ identifier: NotificationIdentifier
    ) async throws {
        for audience in try await notifications.audiences(of: event, in: store) {
            let home = DatabaseAddress(
                store.address.containerAddress, .private(owner: audience.user))
            do {
                let own = try await notifications.storage.store(for: home)
                let entries = try await notifications.subscriptions.summary(of: own).sharedEntries
                try await gather(entries, audience.event, .shared, identifier, in: own)
            } catch let error as StorageError where error.database == home {
                // Only this participant is not notified, and gets the change with the next fetch: all others would
                // wait for the repair otherwise.
                _ = notifications.errors.failure(from: error)
            }
        }
    }

    /// Collects the notifications of some subscriptions for an event.
    ///
    /// - Parameter home: Where the subscriptions are stored.
    private mutating func gather(
        _ entries: [SubscriptionSummary.Entry], _ event: OutboxEvent, _ scope: DatabaseScope,
        _ identifier: NotificationIdentifier, in home: any RecordStore
    ) async throws {
        guard !entries.isEmpty else { return }
        let container = store.address.containerAddress
        var matching = SubscriptionMatching(
            event: event, scope: scope, address: store.address, identifier: identifier,
            schema: try await notifications.schemas.schema(of: container),
            limits: notifications.settings.limits)
        matching.match(entries)
        for entry in entries {
            let occurrences = matching.occurrences(for: entry)
            guard !occurrences.isEmpty else { continue }
            let others = try await listeners(of: entry.user).filter {
                event.user != entry.user || event.device != $0.clientID
            }
            // If no device is notified, a subscription that fires once has not fired.
            guard !others.isEmpty else { continue }
            if entry.subscription.firesOnce {
                guard try await claim(entry, in: home) else { continue }
            }
            // A notification is encoded to learn its size, so it is made only for a device.
            let payloads = occurrences.map { matching.notification(of: $0, for: entry) }
            for device in others {
                for payload in payloads { deliveries.add(payload, to: device) }
            }
        }
    }

    /// Removes a subscription that fires once before its notification is dispatched: it never fires twice, even after a
    /// crash.
    ///
    /// - Returns: false when it is gone, or was replaced by another.
    private func claim(
        _ entry: SubscriptionSummary.Entry, in home: any RecordStore
    ) async throws -> Bool {
        try await notifications.subscriptions.changing(in: home.address) {
            try await home.write { writer in
                let row = try writer.subscriptions(of: entry.subscriber)
                    .first { $0.identifier == entry.identifier }
                guard try row?.subscription() == entry.subscription else { return false }
                try writer.deleteSubscription(entry.identifier, of: entry.subscriber)
                return true
            }
        }
    }

    private mutating func listeners(of user: String) async throws -> [DeviceRow] {
        if let known = devices[user] { return known }
        let listeners = try await notifications.devices.listeners(
            of: user, in: store.address.containerAddress)
        devices[user] = listeners
        return listeners
    }
}

/// Notifications that wait to be delivered together. Those with the same content are one.
private struct Deliveries {
    private var list: [Delivery] = []
    private var places: [Delivery.Key: Int] = [:]

    var count: Int { list.count }

    mutating func add(_ payload: NotificationPayload, to device: DeviceRow) {
        let delivery = Delivery(device: device, payload: payload)
        if let place = places[delivery.key] {
            list[place].payload = payload
        } else {
            places[delivery.key] = list.count
            list.append(delivery)
        }
    }

    mutating func take() -> [Delivery] {
        defer { self = Deliveries() }
        return list
    }
}
