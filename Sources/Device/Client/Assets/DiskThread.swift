import Foundation

/// Does what waits for the disk on a thread apart: a slow disk holds up no task.
package enum DiskThread {
    /// Runs a body on a thread of its own, and brings its outcome back.
    package static func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            // A serial queue has a thread beyond those that tasks and concurrent queues share.
            DispatchQueue(label: "stratus.assets").async {
                continuation.resume(with: Result { try body() })
            }
        }
    }
}
