import Dispatch
import Foundation
import StratusRuntime

/// The queue on which async calls wait for the cache's file: on separate threads, never on one of Swift's pool.
///
/// It is neither the client's `DiskThread` nor the server's `WorkThread`: the writes of a cache keep their order, and its
/// reads are as many as its connections.
final class DiskQueue: Sendable {
    /// The number of concurrent reads, which is the number of readers in the connection pool.
    private static let readsAtOnce = 5

    /// The threads shared by all caches of a process: as many as the disk keeps busy, however many caches there are.
    /// Queues without this target have a thread each, and hundreds of those leave none for Swift's tasks; these threads
    /// are separate.
    static let threads = DispatchQueue.global(qos: .utility)
    /// Operation queues do not retain their underlying queue.
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
    /// - Throws: what the body throws; `CancellationError` if the task was cancelled before.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        return try await withCheckedThrowingContinuation { continuation in
            let work: @Sendable () -> Void = { continuation.resume(with: Result { try body() }) }
            if let runOnDisk { runOnDisk(work) } else { reads.addOperation(work) }
        }
    }

    /// Runs a write after the earlier ones; the write of a cancelled task is still carried out.
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
