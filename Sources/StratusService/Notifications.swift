import StratusRecords
import StratusStorage
import StratusWire
import Synchronization

/// Tells devices of what was saved: reads the outbox after the commit, matches subscriptions, and
/// hands notifications to the courier.
///
/// A notification is a hint. Rows leave the outbox with the next save, in its transaction; after a
/// crash some are told twice and none is forgotten.
final class Notifications: Sendable {
    private let storehouse: any Storehouse
    private let settings: ServiceSettings
    private let subscriptions: SubscriptionBook
    private let schemas: SchemaBook
    private let courier: Courier
    private let faults: FaultScript
    private let state = Mutex(State())

    private struct State {
        var told: [DatabaseAddress: Told] = [:]
        var running: [DatabaseAddress: Task<Void, Never>] = [:]
        /// Databases with news that came while the telling was under way.
        var again: Set<DatabaseAddress> = []
    }

    /// How far a database's outbox was told.
    final class Told: Sendable {
        private let numbers = Mutex((told: Int64(0), dequeued: Int64(0)))

        var through: Int64 { numbers.withLock { $0.told } }

        func advance(through identifier: Int64) {
            numbers.withLock { $0.told = max($0.told, identifier) }
        }

        /// Removes what was told, as a part of a transaction that is under way anyhow.
        ///
        /// When the transaction is undone the rows stay, until one with a later number takes them.
        func dequeue(in writer: any StoreWriter) throws {
            let through: Int64? = numbers.withLock { numbers in
                guard numbers.told > numbers.dequeued else { return nil }
                numbers.dequeued = numbers.told
                return numbers.told
            }
            if let through { try writer.dequeue(through: through) }
        }
    }

    init(
        storehouse: any Storehouse, settings: ServiceSettings, subscriptions: SubscriptionBook,
        schemas: SchemaBook, courier: Courier, faults: FaultScript
    ) {
        self.storehouse = storehouse
        self.settings = settings
        self.subscriptions = subscriptions
        self.schemas = schemas
        self.courier = courier
        self.faults = faults
    }

    func told(of address: DatabaseAddress) -> Told {
        state.withLock { state in
            if let told = state.told[address] { return told }
            let told = Told()
            state.told[address] = told
            return told
        }
    }

    /// Tells what is in the outbox at a database's first use: a crash may have left it there.
    func tellWhatWasLeft(of store: any RecordStore) {
        let isKnown = state.withLock { $0.told[store.address] != nil }
        guard !isKnown else { return }
        _ = told(of: store.address)
        tell(store)
    }

    /// Starts to tell the news of a database, unless that is under way already.
    func tell(_ store: any RecordStore) {
        state.withLock { state in
            if state.running[store.address] != nil {
                state.again.insert(store.address)
            } else {
                state.running[store.address] = Task { await run(store) }
            }
        }
    }

    /// Returns when no news waits to be told.
    func settle() async {
        while let task = state.withLock({ $0.running.values.first }) {
            await task.value
        }
    }

    private func run(_ store: any RecordStore) async {
        var isDone = false
        while !isDone {
            do {
                try await tellAll(of: store)
            } catch {
                // The rows stay in the outbox and are told with the next news or at the next start.
                settings.logger.error(
                    "Notifications could not be told.", metadata: ["type": "\(type(of: error))"])
            }
            isDone = state.withLock { state in
                guard state.again.remove(store.address) == nil else { return false }
                state.running[store.address] = nil
                return true
            }
        }
    }

    private func tellAll(of store: any RecordStore) async throws {
        let told = told(of: store.address)
        let limit = 100
        while true {
            let rows = try await store.read { try $0.outbox(limit: limit) }
            let fresh = rows.filter { $0.identifier > told.through }
            guard !fresh.isEmpty else {
                guard rows.count == limit else { return }
                try await store.write { try $0.dequeue(through: told.through) }
                continue
            }
            for row in fresh {
                try await tell(row, of: store)
                told.advance(through: row.identifier)
            }
        }
    }

    private func tell(_ row: OutboxRow, of store: any RecordStore) async throws {
        // News of a later version's format cannot be told by this one; it is only a hint.
        guard let news = try? News(bytes: row.body) else { return }
        let containerAddress = store.address.containerAddress
        let matching = NewsMatching(
            news: news, address: store.address, notificationID: settings.newUUID(),
            schema: try await schemas.schema(of: containerAddress), limits: settings.limits)
        var devices: [String: [DeviceRow]] = [:]
        for entry in try await subscriptions.summary(of: store).entries {
            let payloads = matching.notifications(for: entry)
            guard !payloads.isEmpty else { continue }
            if devices[entry.user] == nil {
                devices[entry.user] = try await listeners(
                    of: entry.user, to: news, in: containerAddress)
            }
            for device in devices[entry.user] ?? [] {
                for payload in payloads {
                    for _ in 0..<faults.deliveries(to: entry.user, in: containerAddress) {
                        await courier.deliver(payload, to: device.pushToken)
                    }
                }
            }
            if entry.subscription.firesOnce {
                try await store.write {
                    try $0.deleteSubscription(entry.identifier, of: entry.user)
                }
                subscriptions.changed(in: store.address)
            }
        }
    }

    /// The devices of a user that listen, except the one that made the change.
    private func listeners(
        of user: String, to news: News, in address: ContainerAddress
    ) async throws -> [DeviceRow] {
        let now = settings.nowMilliseconds()
        let lifetime = Int64(settings.limits.pushTokenSeconds * 1000)
        return try await storehouse.directory.devices(of: user, in: address).filter {
            $0.isRegistered && now - $0.lastUsedMilliseconds < lifetime
                && !(news.user == user && news.device == $0.clientID)
        }
    }
}
