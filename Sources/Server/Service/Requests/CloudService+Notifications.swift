import StratusRecords
import StratusStorage
import StratusWire

/// What listens to the service, and when it is quiet.
extension CloudService {
    /// Waits for the next notification of a device: the long poll.
    ///
    /// A cancelled wait takes nothing from the queue. A few polls may wait under one token; the newest
    /// is answered first.
    ///
    /// - Returns: nil when the time is over without a notification.
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

    /// Puts a notification back at the head of its queue, for a transport that could not hand it over.
    public func giveBack(_ notification: NotificationPayload, pushToken: String) async {
        await components.courier.giveBack(notification, to: pushToken)
    }

    /// Waits until the devices' queues have the notifications of everything that was saved, what was
    /// added to schemas is in the indexes, no account's end and no long change is under way, and no tombstones are
    /// being purged.
    public func waitUntilIdle() async {
        await components.accountEnds.waitUntilIdle()
        await components.longChanges.waitUntilIdle()
        await components.notifications.waitUntilIdle()
        await components.indexes.waitUntilBuilt()
        await components.tombstones.waitUntilIdle()
    }

    /// Dispatches what a crash left in the outboxes of all databases; for the start of a service.
    ///
    /// Opens one database after the other, so it takes as long as that: about a millisecond for each.
    /// The outbox of a database that is used before is dispatched at its first use.
    ///
    /// - Throws: `StorageError` when a database cannot be opened or read.
    public func dispatchLeftovers() async throws {
        try await components.notifications.dispatchLeftovers()
    }

    /// Goes on with the long changes and the ends of accounts that the last run of the service did not end; for its
    /// start. Changes of a database that is used before go on at its first use.
    ///
    /// - Throws: `StorageError` when databases or accounts cannot be listed.
    public func resumeLongChanges() async throws {
        try await resumeAccountEnds()
        for address in try await storage.databases() {
            try Task.checkCancellation()
            do {
                components.longChanges.takeUp(try await storage.store(for: address))
            } catch let error as StorageError where error.database != nil {
                // The storage has said what is wrong with its file. It goes on at the first use.
                continue
            }
        }
    }

    /// Dispatches what waits and clears the outboxes, so that the next start has nothing to dispatch
    /// again; for a clean stop.
    public func finishNotifications() async {
        await components.notifications.waitUntilIdle()
        await components.notifications.clearOutboxes()
    }
}
