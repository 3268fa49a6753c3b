import Foundation
import StratusRuntime

/// Runs work that waits for the disk on a separate thread, so that a slow disk blocks no task.
///
/// It is neither the cache's `DiskQueue` nor the server's `WorkThread`: work on the files of assets has no order, exists
/// without a cache or an engine, and may wait for another process's lock, which must not delay a cache's own file.
package enum DiskThread {
    /// Where a simulation runs the work instead: as one of its own steps.
    @TaskLocal package static var place: Place?

    /// Not a bare closure: see `AnswerTime.Listener`.
    package struct Place: Sendable {
        fileprivate let runOnDisk: World.RunOnDisk

        package init(_ runOnDisk: @escaping World.RunOnDisk) { self.runOnDisk = runOnDisk }
    }

    /// Runs a body on a separate thread, and returns its value or throws its error.
    package static func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let work: @Sendable () -> Void = { continuation.resume(with: Result { try body() }) }
            if let place { return place.runOnDisk(work) }
            // A serial queue has its own thread, outside the pool that tasks and concurrent queues
            // share.
            DispatchQueue(label: "stratus.assets").async(execute: work)
        }
    }
}
