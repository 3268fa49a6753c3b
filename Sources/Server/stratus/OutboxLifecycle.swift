import Logging
import ServiceLifecycle
import StratusService

/// Tells at the start what a crash left untold, and clears the outboxes at a clean stop.
struct NotificationTelling: ServiceLifecycle.Service {
    let service: CloudService
    let logger: Logger

    func run() async {
        do {
            try await cancelWhenGracefulShutdown { try await service.tellWhatWasLeft() }
        } catch is CancellationError {
            // The service stops first; the news is told at the next start.
        } catch {
            // News of each database is told at its first use in any case.
            logger.warning("The news that waits could not be told at the start.")
        }
        // Ends with the service: the sleep is cut short by its stop.
        try? await gracefulShutdown()
        await service.finishNotifications()
    }
}
