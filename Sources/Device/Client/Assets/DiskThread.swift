import Foundation
import StratusRuntime

/// Does what waits for the disk on a thread apart: a slow disk holds up no task.
package enum DiskThread {
    /// Where a simulation runs it instead: among the steps of its tasks.
    @TaskLocal package static var place: Place?

    /// Not a bare closure: see `AnswerTime.Listener`.
    package struct Place: Sendable {
        fileprivate let runOnDisk: World.RunOnDisk

        package init(_ runOnDisk: @escaping World.RunOnDisk) { self.runOnDisk = runOnDisk }
    }

    /// Runs a body on a thread of its own, and brings its outcome back.
    package static func run<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let work: @Sendable () -> Void = { continuation.resume(with: Result { try body() }) }
            if let place { return place.runOnDisk(work) }
            // A serial queue has a thread beyond those that tasks and concurrent queues share.
            DispatchQueue(label: "stratus.assets").async(execute: work)
        }
    }
}
