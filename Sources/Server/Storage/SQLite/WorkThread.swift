import Dispatch

/// Where an engine does work that waits: opening and closing databases.
enum WorkThread: Sendable {
    /// On a thread of its own, so that no thread of Swift's pool waits for the disk.
    case disk
    /// On the caller's thread: work in memory does not wait, and a test that runs everything on one
    /// executor sees the same order each time.
    case caller

    func run<Outcome: Sendable>(
        _ body: @escaping @Sendable () throws -> Outcome
    ) async throws -> Outcome {
        switch self {
        case .caller:
            return try body()
        case .disk:
            return try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global(qos: .userInitiated).async {
                    continuation.resume(with: Result { try body() })
                }
            }
        }
    }
}
