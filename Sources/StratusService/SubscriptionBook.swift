import StratusRecords
import StratusStorage
import StratusWire
import Synchronization

/// The subscriptions of databases, read once and kept in memory, so that a save knows without a
/// statement whether anybody listens.
final class SubscriptionBook: Sendable {
    private struct State {
        var summaries: [DatabaseAddress: SubscriptionSummary] = [:]
        /// Counts the changes; what was read before one is not kept after it.
        var changes: UInt64 = 0
    }

    private static let capacity = 10_000

    private let state = Mutex(State())

    /// A subscription that was stored before the call is always in the answer.
    func summary(of store: any RecordStore) async throws -> SubscriptionSummary {
        let (known, changes) = state.withLock { ($0.summaries[store.address], $0.changes) }
        if let known { return known }
        let rows = try await store.read { try $0.subscriptions(of: nil) }
        let summary = SubscriptionSummary(rows)
        state.withLock { state in
            guard state.changes == changes else { return }
            if state.summaries.count >= Self.capacity { state.summaries.removeAll() }
            state.summaries[store.address] = summary
        }
        return summary
    }

    /// Says that a database's subscriptions changed; to be called after the commit, before the answer.
    func changed(in address: DatabaseAddress) {
        state.withLock {
            $0.changes += 1
            $0.summaries[address] = nil
        }
    }
}

/// All subscriptions of one database.
struct SubscriptionSummary: Sendable {
    struct Entry: Sendable {
        var user: String
        var identifier: String
        var subscription: SubscriptionDictionary
    }

    private(set) var entries: [Entry] = []
    /// Whether somebody asks about records or types rather than just about changes.
    private(set) var wantsRecords = false
    private var queries: [String: Set<SubscriptionDictionary.Occasion>] = [:]

    init(_ rows: [SubscriptionRow]) {
        for row in rows where row.user != SubscriptionRow.sharedSubscriber {
            // A body that cannot be read was written by a later version; it fires when that runs again.
            guard let subscription = try? row.subscription() else { continue }
            entries.append(
                Entry(user: row.user, identifier: row.identifier, subscription: subscription))
            if let query = subscription.query, subscription.kind == .query {
                queries[query.recordType, default: []].formUnion(subscription.firesOn)
            }
            if subscription.kind == .query || subscription.recordType != nil { wantsRecords = true }
        }
    }

    var isEmpty: Bool { entries.isEmpty }

    /// Whether a query subscription may have to look inside a record of this type.
    func wantsRow(ofType type: String, _ reason: NotificationPayload.Reason) -> Bool {
        queries[type]?.contains(reason.occasion) ?? false
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
    /// Under whose name a private database keeps its owner's subscriptions to the shared one, which
    /// has no store of its own.
    static let sharedSubscriber = "shared"

    init(user: String, identifier: String, subscription: SubscriptionDictionary) {
        self.init(user: user, identifier: identifier, body: wireBytes(of: subscription))
    }

    func subscription() throws(WireError) -> SubscriptionDictionary {
        try readWire(from: body)
    }
}
