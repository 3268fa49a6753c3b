import StratusRecords
import StratusStorage
import StratusWire

extension SubscriptionsLookup: ServedEndpoint {
    public static let rules = EndpointRules<Self>(
        access: .user, effect: .idempotent, isCompressed: true,
        cost: { _ in 0 }, zones: { _ in [] }, link: { _, _ in })

    /// Returns the named subscriptions of the caller to the database; one that does not exist is an error of its own.
    public static func answer(_ call: EndpointCall<Self>) async throws -> Answer {
        try call.context.checkCount(call.request.subscriptionIDs.count)
        let rows = try await call.context.subscriptions(in: call.components.databases)
        let rowsByIdentifier = Dictionary(
            rows.map { ($0.identifier, $0) }, uniquingKeysWith: { first, _ in first })
        return Answer(
            call.request.subscriptionIDs.map { identifier in
                guard let row = rowsByIdentifier[identifier] else {
                    return .failure(subscriptionID: identifier, .subscriptionNotFound)
                }
                return .subscription(row.listed)
            })
    }
}
