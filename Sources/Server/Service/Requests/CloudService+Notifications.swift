import StratusRecords
import StratusStorage
import StratusWire

/// Notifications, and waiting until the service is idle.
extension CloudService {
    /// Waits for the next notification of a device: the long poll.
    ///
    /// A cancelled wait takes nothing from the queue. A few polls may wait with one token; the newest is answered
    /// first.
    ///
    /// - Returns: Nil when the time is over without a notification.
    /// - Throws: `RequestFailure` with NOT_FOUND when the push token is unknown or has expired, and
    ///   with THROTTLED when too many polls wait under it.
    public func nextNotification(
        pushToken: String, timeoutSeconds: Double
    ) async throws(RequestFailure) -> NotificationPayload? {
        do {
            try await components.devices.renew(pushToken: pushToken)
            return try await components.courier.next(
                pushToken: pushToken, timeoutSeconds: timeoutSeconds)
        } catch {
            throw components.errors.failure(from: error)
        }
    }

    /// Puts a notification back at the head of its queue, for a transport that could not send it.
    public func giveBack(_ notification: NotificationPayload, pushToken: String) async {
        await components.courier.giveBack(notification, to: pushToken)
    }

    /// Waits until the devices' queues have the notifications of everything that was saved, fields that were added to
    /// schemas are indexed, and no account's deletion, long change or purge of tombstones is running.
    public func waitUntilIdle() async {
        await components.accountEnds.waitUntilIdle()
        await components.longChanges.waitUntilIdle()
        await components.notifications.waitUntilIdle()
        await components.indexes.waitUntilBuilt()
        await components.tombstones.waitUntilIdle()
    }

    /// Dispatches the events that a crash left in the outboxes of all databases; called at the start of a service.
    ///
    /// Opens one database after the other, which takes about a millisecond for each. The outbox of a database that is
    /// used earlier is dispatched at its first use.
    ///
    /// - Throws: `StorageError` when a database cannot be opened or read.
    public func dispatchPending() async throws {
        try await components.notifications.dispatchPending()
    }

    /// Continues the long changes and the deletions of accounts that the last run of the service did not finish; called
    /// at its start. The changes of a database that is used earlier continue at its first use.
    ///
    /// - Throws: `StorageError` when databases or accounts cannot be listed.
    public func resumeLongChanges() async throws {
        try await resumeAccountEnds()
        for address in try await storage.databases() {
            try Task.checkCancellation()
            do {
                components.longChanges.takeUp(try await storage.store(for: address))
            } catch let error as StorageError where error.database != nil {
                // The storage has reported the damaged file. The change continues at the database's first use.
                continue
            }
        }
    }

    /// Dispatches waiting events and clears the outboxes, so that the next start need not dispatch them again; called
    /// at a clean stop.
    public func finishNotifications() async {
        await components.notifications.waitUntilIdle()
        await components.notifications.clearOutboxes()
    }
}
