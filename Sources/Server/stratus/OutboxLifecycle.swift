import Logging
import ServiceLifecycle
import StratusService

/// Dispatches at the start what a crash left in the outboxes, and clears the outboxes at a clean stop.
struct OutboxLifecycle: ServiceLifecycle.Service {
    let service: CloudService
    let logger: Logger

    func run() async {
        do {
            try await cancelWhenGracefulShutdown {
                try await service.resumeLongChanges()
                try await service.dispatchLeftovers()
            }
        } catch is CancellationError {
            // The service stops first; the events are dispatched at the next start.
        } catch {
            // The outbox of each database is dispatched at its first use in any case.
            logger.warning(
                "The outboxes could not be dispatched at the start; each is at the first use of its database."
            )
        }
        // Ends with the service: the sleep is cut short by its stop.
        try? await gracefulShutdown()
        await service.finishNotifications()
    }
}
