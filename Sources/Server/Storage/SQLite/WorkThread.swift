import Dispatch
import StratusRuntime

/// Where an engine does work that blocks on the disk.
///
/// It is neither `DiskQueue` nor `DiskThread` of the device: an engine in memory has nothing that blocks, and works on
/// the caller's thread.
enum WorkThread: Sendable {
    /// On a separate thread, so that no thread of Swift's pool blocks on the disk.
    case disk
    /// On this queue, after all earlier work.
    case queue(DispatchQueue)
    /// On the caller's thread: work in memory does not block, and a test that runs everything on
    /// one executor gets the same order each time.
    case caller
    /// Where a simulated world runs it: among the steps of its tasks, although there are files.
    case world(World.RunOnDisk)

    /// Where a world runs its work on the disk.
    init(_ world: World) { self = world.runOnDisk.map { WorkThread.world($0) } ?? .disk }

    /// Where blobs are written and flushed, one piece at a time: a commit that comes meanwhile waits for the piece that
    /// is being written, not for one piece of each upload.
    static func blobs(in world: World) -> WorkThread {
        world.runOnDisk.map { WorkThread.world($0) } ?? .queue(blobQueue)
    }

    private static let blobQueue = DispatchQueue(label: "stratus.blobs", qos: .userInitiated)

    /// Whether several pieces of work run at the same time.
    var isConcurrent: Bool { if case .disk = self { true } else { false } }

    func run<Outcome: Sendable>(
        _ body: @escaping @Sendable () throws -> Outcome
    ) async throws -> Outcome {
        if case .caller = self { return try body() }
        return try await withCheckedThrowingContinuation { continuation in
            start { continuation.resume(with: Result { try body() }) }
        }
    }

    /// Starts work without awaiting it; on the caller's thread it has ended on return.
    func start(_ body: @escaping @Sendable () -> Void) {
        switch self {
        case .caller: body()
        case .disk: DispatchQueue.global(qos: .userInitiated).async(execute: body)
        case .queue(let queue): queue.async(execute: body)
        case .world(let run): run(body)
        }
    }
}
