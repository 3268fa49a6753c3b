import Logging
import StratusRecords
import Synchronization

/// The accounts whose end is under way in this process, each once at a time.
///
/// That an account ends is written in the directory before anything goes; who starts the service next goes on.
final class AccountEnds: Sendable {
    private let running = Mutex<[String: Task<Void, Never>]>([:])
    private let settings: ServiceSettings

    init(settings: ServiceSettings) { self.settings = settings }

    /// Has the work done that ends an account, unless it is under way already; the work goes on where nobody waits.
    func start(
        _ userRecordName: String, _ work: @escaping @Sendable () async throws -> Void
    ) -> Task<Void, Never> {
        running.withLock { running in
            if let task = running[userRecordName] { return task }
            let task = settings.world.startTask("end of an account") { [self] in
                do {
                    try await work()
                } catch {
                    settings.logger.warning(
                        "An account could not be removed; it is tried again at the next start.",
                        metadata: ["error": "\(type(of: error))"])
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
