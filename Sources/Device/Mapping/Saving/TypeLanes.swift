/// One serial queue for each type: work on a type waits for earlier work on it, in order; work on
/// other types runs concurrently.
actor TypeLanes {
    private struct Waiter {
        var types: Set<String>
        var continuation: CheckedContinuation<Void, Never>
    }

    private var held: Set<String> = []
    private var waiting: [Waiter] = []

    /// Runs a body with exclusive access to these types.
    nonisolated func holding<Value: Sendable>(
        _ types: Set<String>, _ body: () async throws -> Value
    ) async rethrows -> Value {
        await acquire(types)
        do {
            let value = try await body()
            await release(types)
            return value
        } catch {
            await release(types)
            throw error
        }
    }

    private func acquire(_ types: Set<String>) async {
        let ahead = waiting.reduce(into: held) { $0.formUnion($1.types) }
        guard !ahead.isDisjoint(with: types) else {
            held.formUnion(types)
            return
        }
        await withCheckedContinuation { waiting.append(Waiter(types: types, continuation: $0)) }
    }

    private func release(_ types: Set<String>) {
        held.subtract(types)
        var ahead = held
        var rest: [Waiter] = []
        for waiter in waiting {
            if ahead.isDisjoint(with: waiter.types) {
                held.formUnion(waiter.types)
                waiter.continuation.resume()
            } else {
                rest.append(waiter)
            }
            ahead.formUnion(waiter.types)
        }
        waiting = rest
    }
}
