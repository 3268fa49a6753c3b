/// The value and the error that the completion handler of a call gets.
func handled<Value: Sendable>(
    _ call: (@escaping @Sendable (Value, (any Error)?) -> Void) -> Void
) async -> (value: Value, error: (any Error)?) {
    await withCheckedContinuation { continuation in
        call { value, error in continuation.resume(returning: (value: value, error: error)) }
    }
}

/// The value that the completion handler of a call gets as a result; throws the result's error.
func handledResult<Value: Sendable>(
    _ call: (@escaping @Sendable (Result<Value, any Error>) -> Void) -> Void
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        call { result in continuation.resume(with: result) }
    }
}
