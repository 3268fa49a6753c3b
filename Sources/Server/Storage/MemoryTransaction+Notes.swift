import HashTreeCollections

/// What a database keeps beside its records: subscriptions, outcomes, the outbox.
extension MemoryTransaction {
    // MARK: Subscriptions

    func subscriptions(of user: String?) -> [SubscriptionRow] {
        state.subscriptions.values
            .filter { user == nil || $0.user == user }
            .sorted { left, right in
                left.user == right.user
                    ? precedes(left.identifier, right.identifier) : precedes(left.user, right.user)
            }
    }

    func put(_ row: SubscriptionRow) {
        state.subscriptions[.init(user: row.user, identifier: row.identifier)] = row
    }

    func deleteSubscription(_ identifier: String, of user: String) {
        state.subscriptions[.init(user: user, identifier: identifier)] = nil
    }

    // MARK: Outcomes of operations

    func outcome(of operation: OperationKey) -> [UInt8]? {
        state.outcomes[operation]?.bytes
    }

    func put(outcome: [UInt8], of operation: OperationKey, expiresMilliseconds: Int64) {
        state.outcomes[operation] = .init(
            bytes: outcome, expiresMilliseconds: expiresMilliseconds)
    }

    func deleteOutcomes(expiredAt milliseconds: Int64) {
        state.outcomes = state.outcomes.filter { $0.value.expiresMilliseconds > milliseconds }
    }

    // MARK: Outbox

    func outbox(after identifier: Int64, limit: Int) -> [OutboxRow] {
        let told = max(state.outboxTold, identifier)
        guard told < state.outboxLast else { return [] }
        return ((told + 1)...state.outboxLast)
            .prefix(max(limit, 1))
            .compactMap { state.outbox[$0] }
    }

    func enqueue(_ body: [UInt8]) {
        state.outboxLast += 1
        state.outbox[state.outboxLast] = OutboxRow(identifier: state.outboxLast, body: body)
    }

    func dequeue(through identifier: Int64) {
        while state.outboxTold < min(identifier, state.outboxLast) {
            state.outboxTold += 1
            state.outbox[state.outboxTold] = nil
        }
    }
}
