import Dispatch

/// Runs work that waits for the disk on a thread of its own, so that no thread of Swift's pool waits.
func onDiskThread<Outcome: Sendable>(
    _ body: @escaping @Sendable () throws -> Outcome
) async throws -> Outcome {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global(qos: .userInitiated).async {
            continuation.resume(with: Result { try body() })
        }
    }
}
