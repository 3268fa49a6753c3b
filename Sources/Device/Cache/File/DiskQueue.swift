import Dispatch
import Foundation
import StratusRuntime

/// Where async calls wait for the cache's file: on threads of its own, never on one of Swift's pool.
final class DiskQueue: Sendable {
    /// As many reads at once as the pool of connections has readers.
    private static let readsAtOnce = 5

    /// Where all caches of a process find their threads: as many as the disk keeps busy, however many
    /// caches there are. A queue without it has a thread of its own, and hundreds of those leave Swift's
    /// tasks none; these are not theirs.
    static let threads = DispatchQueue.global(qos: .utility)
    /// Operation queues do not hold their queue.
    private static let readThreads = DispatchQueue(
        label: "stratus.cache.reads", attributes: .concurrent, target: threads)

    private let writes = DispatchQueue(label: "stratus.cache.writes", target: threads)
    private let reads: OperationQueue
    private let runOnDisk: World.RunOnDisk?

    init(_ world: World) {
        reads = OperationQueue()
        reads.name = "stratus.cache.reads"
        reads.maxConcurrentOperationCount = Self.readsAtOnce
        reads.underlyingQueue = Self.readThreads
        runOnDisk = world.runOnDisk
    }

    /// Runs a read; several run at once.
    ///
    /// - Throws: what the body throws; `CancellationError` where the task was cancelled before.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        return try await withCheckedThrowingContinuation { continuation in
            let work: @Sendable () -> Void = { continuation.resume(with: Result { try body() }) }
            if let runOnDisk { runOnDisk(work) } else { reads.addOperation(work) }
        }
    }

    /// Runs a write after those that came before it; a task that is cancelled writes all the same.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let work: @Sendable () -> Void = { continuation.resume(with: Result { try body() }) }
            if let runOnDisk { runOnDisk(work) } else { writes.async(execute: work) }
        }
    }
}

/// Runs an actor that reads and writes the file.
final class DiskExecutor: SerialExecutor {
    private let queue: DispatchQueue
    private let runOnDisk: World.RunOnDisk?

    init(_ label: String, _ world: World) {
        queue = DispatchQueue(label: label, target: DiskQueue.threads)
        runOnDisk = world.runOnDisk
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let work: @Sendable () -> Void = { [self] in
            job.runSynchronously(on: asUnownedSerialExecutor())
        }
        if let runOnDisk { runOnDisk(work) } else { queue.async(execute: work) }
    }
}
