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
                "The outboxes could not be dispatched at the start. Each is dispatched when its database is first used."
            )
        }
        // Ends with the service: its stop cancels the sleep.
        try? await gracefulShutdown()
        await service.finishNotifications()
    }
}
