import StratusRecords
import StratusRuntime
import StratusStorage
import StratusWire
import Synchronization

/// The subscriptions of databases, read once and kept in memory, so that a save knows without a database query whether
/// there are any.
final class SubscriptionCache: Sendable {
    private struct State {
        var summaries = LRUCache<DatabaseAddress, SubscriptionSummary>(capacity: 10_000)
        /// Counts the changes: what was read before one of a database must not be kept after it.
        var changes: UInt64 = 0
        /// The number of each database's last change.
        var lastChanges: [DatabaseAddress: UInt64] = [:]
        /// Up to this number the changes are forgotten: any database may have had one.
        var forgotten: UInt64 = 0
        /// How many requests are changing the subscriptions of each database.
        var changing: [DatabaseAddress: Int] = [:]

        private static let lastChangesKept = 1_000

        /// Whether a database's subscriptions may have changed since `count` changes were counted.
        func mayHaveChanged(_ address: DatabaseAddress, since count: UInt64) -> Bool {
            if changing[address] != nil { return true }
            if count == changes { return false }
            return count < forgotten || count < lastChanges[address] ?? 0
        }

        mutating func endChange(in address: DatabaseAddress) {
            changes += 1
            if lastChanges.count >= Self.lastChangesKept {
                lastChanges.removeAll(keepingCapacity: true)
                forgotten = changes
            }
            lastChanges[address] = changes
            summaries[address] = nil
            let left = (changing[address] ?? 1) - 1
            changing[address] = left == 0 ? nil : left
        }
    }

    /// Subscriptions as they were read before a transaction.
    struct SubscriptionReading: Sendable {
        fileprivate var summary: SubscriptionSummary
        /// The changes that were counted before.
        fileprivate var changes: UInt64
    }

    private let state = Mutex(State())

    /// A subscription that was stored before the call is always in the answer.
    func summary(of store: any RecordStore) async throws -> SubscriptionSummary {
        try await reading(of: store).summary
    }

    /// The subscriptions for a transaction that has not begun: in it, call ``summary(_:in:of:)``.
    func reading(of store: any RecordStore) async throws -> SubscriptionReading {
        let (known, changes) = state.withLock { ($0.summaries[store.address], $0.changes) }
        if let known { return SubscriptionReading(summary: known, changes: changes) }
        let owner = store.address.owner
        let summary = try await store.read { reader in
            SubscriptionSummary(try reader.subscriptions(of: nil), owner: owner)
        }
        state.withLock { state in
            guard !state.mayHaveChanged(store.address, since: changes) else { return }
            state.summaries[store.address] = summary
        }
        return SubscriptionReading(summary: summary, changes: changes)
    }

    /// The subscriptions in a transaction: read again if they may have changed while it waited for its turn. Otherwise
    /// no one would be notified of a change that comes after a new subscription and its subscriber's first fetch.
    func summary(
        _ reading: SubscriptionReading, in reader: any StoreReader, of address: DatabaseAddress
    ) throws -> SubscriptionSummary {
        let mayHaveChanged = state.withLock {
            $0.mayHaveChanged(address, since: reading.changes)
        }
        guard mayHaveChanged else { return reading.summary }
        return SubscriptionSummary(try reader.subscriptions(of: nil), owner: address.owner)
    }

    /// Runs the transaction that changes a database's subscriptions. What was read before its end is not kept.
    func changing<Outcome>(
        in address: DatabaseAddress, _ change: () async throws -> Outcome
    ) async throws -> Outcome {
        state.withLock { $0.changing[address, default: 0] += 1 }
        defer { state.withLock { $0.endChange(in: address) } }
        return try await change()
    }
}

/// All subscriptions of one database.
struct SubscriptionSummary: Sendable {
    struct Entry: Sendable {
        /// The user who is notified.
        var user: String
        /// The name under which the subscription is stored.
        var subscriber: String
        var identifier: String
        var subscription: SubscriptionDictionary
    }

    /// The subscriptions to zones and to the database as a whole.
    private var entries: [Entry] = []
    /// The owner's subscriptions to the shared database.
    private(set) var sharedEntries: [Entry] = []
    /// Whether any subscription asks about records or types rather than just about changes.
    private(set) var wantsRecords: Bool
    /// Whether anyone is notified of changes: subscribers, or participants with subscriptions in their own databases.
    let wantsEvents: Bool
    private var occasions: [String: Set<SubscriptionDictionary.Occasion>] = [:]
    private var queryEntries: [String: [Entry]] = [:]

    /// - Parameter owner: The user whose database it is; nil for the public one.
    init(_ rows: [SubscriptionRow], owner: String?) {
        wantsRecords = false
        var wantsEvents = false
        for row in rows {
            // A body that cannot be read was written by a later version, or is damaged, which stratus doctor reports.
            // The subscription fires nothing until it can be read.
            guard let subscription = try? row.subscription() else { continue }
            if row.user == SubscriptionRow.sharedSubscriber {
                guard let owner else { continue }
                sharedEntries.append(
                    Entry(
                        user: owner, subscriber: row.user, identifier: row.identifier,
                        subscription: subscription))
                continue
            }
            wantsEvents = true
            let entry = Entry(
                user: row.user, subscriber: row.user, identifier: row.identifier,
                subscription: subscription)
            if let query = subscription.query, subscription.kind == .query {
                queryEntries[query.recordType, default: []].append(entry)
                occasions[query.recordType, default: []].formUnion(subscription.firesOn)
                wantsRecords = true
            } else {
                entries.append(entry)
                if subscription.recordType != nil { wantsRecords = true }
            }
        }
        self.wantsEvents = wantsEvents
    }

    /// The subscriptions that an event may concern.
    func entries(concerning event: OutboxEvent) -> [Entry] {
        guard !queryEntries.isEmpty else { return entries }
        let types = Set(event.changes.map(\.recordType))
        return entries + types.sorted().flatMap { queryEntries[$0] ?? [] }
    }

    /// Whether a query subscription may have to compare a record of this type.
    func wantsRow(ofType type: String, _ reason: NotificationPayload.Reason) -> Bool {
        occasions[type]?.contains(reason.occasion) ?? false
    }
}

extension DatabaseAddress {
    /// The user whose private database it is; nil for the public one.
    var owner: String? {
        switch tenant {
        case .public: nil
        case .private(let owner): owner
        }
    }
}

extension NotificationPayload.Reason {
    var occasion: SubscriptionDictionary.Occasion {
        switch self {
        case .recordCreated: .create
        case .recordUpdated: .update
        case .recordDeleted: .delete
        }
    }
}

extension SubscriptionRow {
    /// The name under which a private database stores its owner's subscriptions to the shared database, which has no
    /// store of its own.
    static let sharedSubscriber = "shared"

    init(user: String, identifier: String, subscription: SubscriptionDictionary) {
        self.init(user: user, identifier: identifier, body: wireBytes(of: subscription))
    }

    func subscription() throws(WireError) -> SubscriptionDictionary {
        try readWire(from: body)
    }

    /// The subscription for its owner's list. If another release wrote it and it cannot be read in full, the list has
    /// the parts that can be read, with the identifier by which it can be deleted.
    var listed: SubscriptionDictionary {
        do {
            return try subscription()
        } catch {
            // If the bytes are not even JSON, only the identifier is left.
            var readable =
                (try? readWire(ReadableSubscription.self, from: body))?.subscription
                ?? SubscriptionDictionary(subscriptionID: nil, kind: nil)
            readable.subscriptionID = identifier
            return readable
        }
    }
}
