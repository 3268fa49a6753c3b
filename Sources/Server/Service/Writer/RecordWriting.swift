import StratusRecords
import StratusStorage

/// Runs the transactions that write records, and notifies subscribers after the commit.
///
/// Nothing else calls `RecordStore.writeRecords` or makes a ``RecordWriter``.
struct RecordWriting: Sendable {
    let subscriptions: SubscriptionCache
    let notifications: Notifications
    let ancestorLimits: AncestorMaintainer.AncestorLimits
    let recordsAtOnce: Int

    /// Runs `body` in a transaction on a database.
    ///
    /// - Parameters:
    ///   - user: the user who makes the change.
    ///   - device: the device that makes it; empty for an operator's change, of which all devices are notified.
    func write<Outcome: Sendable>(
        to store: any RecordStore, by user: String, on device: String,
        _ body: @escaping @Sendable (inout RecordWriter) throws -> Outcome
    ) async throws -> Outcome {
        let cursor = notifications.cursor(of: store.address)
        let author = RecordAuthor(
            user: user, device: device,
            subscriptions: try await subscriptions.summary(of: store),
            ancestorLimits: ancestorLimits,
            recordsAtOnce: recordsAtOnce)
        let (outcome, mayHaveEvents) = try await store.writeRecords { rows in
            // What was dispatched is removed by a transaction that runs anyway.
            if let through = cursor.takeLeft() { try rows.dequeue(through: through) }
            var writer = RecordWriter(rows, author)
            return (try body(&writer), writer.mayHaveEvents)
        }
        if mayHaveEvents { notifications.dispatch(store) }
        return outcome
    }

    /// Notifies a participant's devices of a zone that was just added to their database: fetches that the joining
    /// itself caused may have been answered without it.
    func notify(
        _ user: String, on device: String, ofJoined zoneName: String, in store: any RecordStore
    ) async throws {
        var event = ShareEvent(zoneName: zoneName, user: user, device: device)
        event.affected = [user]
        let bytes = event.bytes
        try await store.write { try $0.enqueue(bytes) }
        notifications.dispatch(store)
    }

    /// Removes the oldest tombstones of a zone. No user makes this change, and no one is notified.
    ///
    /// - Returns: the number of removed tombstones.
    static func purgeTombstones(
        of store: any RecordStore, before milliseconds: Int64, in zone: ZoneRow.Key, limit: Int
    ) async throws -> Int {
        try await store.writeRecords { rows in
            try RecordWriter.purgeTombstones(rows, before: milliseconds, in: zone, limit: limit)
        }
    }

    /// The writer for a repair, in the transaction that the store made for it. No user and no device makes these
    /// changes, and no one is notified.
    static func repair(_ rows: any RecordTransaction) -> RecordWriter {
        RecordWriter(
            rows,
            RecordAuthor(
                user: "", device: "", subscriptions: SubscriptionSummary([], owner: nil),
                ancestorLimits: .init(Limits()), recordsAtOnce: .max))
    }
}
