import Logging
import ServiceLifecycle
import StratusService

/// Dispatches at the start the events that a crash left in the outboxes, and clears the outboxes at a clean stop.
struct OutboxLifecycle: ServiceLifecycle.Service {
    let service: CloudService
    let logger: Logger

    func run() async {
        do {
            try await cancelWhenGracefulShutdown {
                try await start("Long changes, such as deletions of large hierarchies") {
                    try await service.resumeLongChanges()
                }
                try await start("The outboxes' events") { try await service.dispatchPending() }
            }
        } catch {
            // The service is being stopped; both are done at the next start.
        }
        // The sleep only ends when the service stops, also if it throws.
        try? await gracefulShutdown()
        await service.finishNotifications()
    }

    /// Does the work that a crash left in all databases.
    ///
    /// - Throws: `CancellationError`. Other errors are logged: the work of each database is also done at its first use.
    private func start(_ subject: String, _ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as CancellationError {
            throw error
        } catch {
            logger.warning(
                "\(subject) could not be continued at the start. Those of a database continue when it is first used.",
                metadata: ["error": "\(error)"])
        }
    }
}
