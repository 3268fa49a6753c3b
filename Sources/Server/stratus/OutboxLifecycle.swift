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
                try await service.resumeLongChanges()
                try await service.dispatchLeftovers()
            }
        } catch is CancellationError {
            // The service is being stopped; the events are dispatched at the next start.
        } catch {
            // Logged, and not thrown: each outbox is dispatched at its database's first use in any case.
            logger.warning(
                "The outboxes could not be dispatched at the start. Each is dispatched when its database is first used."
            )
        }
        // The sleep only ends when the service stops, also if it throws.
        try? await gracefulShutdown()
        await service.finishNotifications()
    }
}
