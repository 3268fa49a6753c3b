import StratusRecords
import StratusStorage
import StratusWire

extension SubscriptionsList: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: true,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in })

    /// Lists the caller's subscriptions to the database.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        Answer(
            try await call.context.subscriptions(in: call.components.databases)
                .map { .subscription($0.listed) })
    }
}

/// Where a caller's subscriptions to the request's database are stored.
struct Subscriber: Sendable {
    var store: any RecordStore
    var name: String
}

extension RequestContext {
    /// Reads the caller's subscriptions. They are charged to the request, and count against its memory.
    func subscriptions(in databases: Databases) async throws -> [SubscriptionRow] {
        let subscriber = try await subscriber(in: databases)
        return try await subscriber.store.read { reader in
            let rows = try reader.subscriptions(of: subscriber.name)
            work.add(recordsRead: rows.count)
            try hold(recordBytes: rows.reduce(0) { $0 + $1.body.count })
            return rows
        }
    }

    func subscriber(in databases: Databases) async throws -> Subscriber {
        let user = try user()
        if let store = try await databases.store(of: self) {
            return Subscriber(store: store, name: user)
        }
        let own = try await databases.privateStore(of: user, in: address)
        return Subscriber(store: own, name: SubscriptionRow.sharedSubscriber)
    }
}
