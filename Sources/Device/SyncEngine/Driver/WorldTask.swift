import StratusRuntime
import Synchronization

/// A task that a world has started, and whose outcome is awaited.
struct WorldTask<Value: Sendable>: Sendable {
    private final class Outcome: Sendable {
        private let stored = Mutex<Result<Value, any Error>?>(nil)

        var result: Result<Value, any Error>? { stored.withLock { $0 } }

        func store(_ result: Result<Value, any Error>) { stored.withLock { $0 = result } }
    }

    private let task: Task<Void, Never>
    private let outcome: Outcome

    init(
        _ name: String, in world: World, _ body: @escaping @Sendable () async throws -> Value
    ) {
        let outcome = Outcome()
        self.outcome = outcome
        task = world.startTask(name) {
            do {
                outcome.store(.success(try await body()))
            } catch {
                outcome.store(.failure(error))
            }
        }
    }

    /// The outcome, when the task has ended.
    var result: Result<Value, any Error> {
        get async {
            await task.value
            // A task that has ended has an outcome.
            return outcome.result ?? .failure(CancellationError())
        }
    }

    func cancel() { task.cancel() }
}
