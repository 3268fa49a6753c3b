import StratusRecords
import StratusStorage

/// Deletes a user's zone for a reason that the user's devices are told.
struct ZoneRemoval: Sendable {
    let databases: Databases
    let subscriptions: SubscriptionCache
    let notifications: Notifications

    /// - Returns: whether there was such a zone.
    func remove(
        named name: String, of user: String, at address: ContainerAddress,
        reason: ZoneRow.Deletion
    ) async throws -> Bool {
        guard name != ZoneID.defaultZoneName else {
            throw ServiceError.invalid("The default zone cannot be deleted.")
        }
        let store = try await databases.privateStore(of: user, in: address)
        let summary = try await subscriptions.summary(of: store)
        let isRemoved = try await store.write { writer in
            guard let zone = try writer.livingZone(named: name) else { return false }
            if let event = try ShareEvent(endOf: zone, user: user, device: "", writer) {
                try writer.enqueue(event.bytes)
            }
            try writer.deleteZone(zone.key, reason: reason)
            if summary.wantsEvents {
                // Nobody's device made the change: all are notified.
                let event = OutboxEvent(
                    zoneName: name, user: user, device: "", changes: [], subject: .zoneDeleted)
                try writer.enqueue(event.bytes)
            }
            return true
        }
        notifications.dispatch(store)
        return isRemoved
    }
}
