import Foundation

extension ContainerCore {
    /// Runs a convenience call, then its completion handler on the container's serial queue.
    func call<Value: Sendable>(
        to handler: @escaping @Sendable (Result<Value, any Error>) -> Void,
        _ body: @escaping @Sendable () async throws -> Value
    ) {
        Task(priority: .high) {
            let result: Result<Value, any Error>
            do {
                result = .success(try await body())
            } catch {
                // The completion handler gets the error.
                result = .failure(error)
            }
            self.callbackQueue.async { handler(result) }
        }
    }

    /// Runs a call with a handler that takes a value and nil, or a fallback value and the error.
    func call<Value: Sendable>(
        to handler: @escaping @Sendable (Value, (any Error)?) -> Void, orFailing failed: Value,
        _ body: @escaping @Sendable () async throws -> Value
    ) {
        call(
            to: { result in
                switch result {
                case .success(let value): handler(value, nil)
                case .failure(let error): handler(failed, error)
                }
            }, body)
    }

    /// Runs a call with a handler that takes a value and nil, or nil and the error.
    func call<Value: Sendable>(
        to handler: @escaping @Sendable (Value?, (any Error)?) -> Void,
        _ body: @escaping @Sendable () async throws -> Value?
    ) {
        call(to: handler, orFailing: nil, body)
    }
}
