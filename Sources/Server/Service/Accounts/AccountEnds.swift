import Logging
import StratusRecords
import StratusRuntime
import Synchronization

/// The accounts that this process is deleting, each once at a time.
///
/// The directory notes the deletion before anything is removed, so the next start of the service continues it.
final class AccountEnds: Sendable {
    private let running = Mutex<[String: Task<Void, Never>]>([:])
    private let world: World
    private let logger: Logger

    init(world: World, logger: Logger) {
        self.world = world
        self.logger = logger
    }

    /// Starts the work that deletes an account, unless it is running already. It continues when no request waits for
    /// it.
    func start(
        _ userRecordName: String, _ work: @escaping @Sendable () async throws -> Void
    ) -> Task<Void, Never> {
        running.withLock { running in
            if let task = running[userRecordName] { return task }
            let task = world.startTask("end of an account") { [self] in
                do {
                    try await work()
                } catch {
                    logger.warning(
                        "An account could not be removed; it is tried again at the next start.",
                        metadata: ["user": "\(userRecordName)", "error": "\(type(of: error))"])
                }
                self.running.withLock { $0[userRecordName] = nil }
            }
            running[userRecordName] = task
            return task
        }
    }

    func waitUntilIdle() async {
        while let task = running.withLock({ $0.values.first }) { await task.value }
    }
}
