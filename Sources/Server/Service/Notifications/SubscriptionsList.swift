import StratusRecords
import StratusStorage
import StratusWire

extension SubscriptionsList: ServedEndpoint {
    public static let access = EndpointAccess.user

    public static func answer(
        _ request: Request, in context: RequestContext
    ) async throws -> Answer {
        let subscriber = try await context.subscriber()
        let rows = try await subscriber.store.read {
            try $0.subscriptions(of: subscriber.name)
        }
        return Answer(subscriptions: try rows.map { .subscription(try $0.subscription()) })
    }
}

/// Where a caller's subscriptions to the database of a request are kept.
struct Subscriber: Sendable {
    var store: any RecordStore
    var name: String
}

extension RequestContext {
    func subscriber() async throws -> Subscriber {
        let user = try user()
        if let store = try await store() { return Subscriber(store: store, name: user) }
        let own = try await service.store(for: DatabaseAddress(address, .private(owner: user)))
        return Subscriber(store: own, name: SubscriptionRow.sharedSubscriber)
    }
}
