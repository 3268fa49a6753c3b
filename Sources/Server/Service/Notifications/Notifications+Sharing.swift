import StratusRecords
import StratusStorage
import StratusWire

/// A participant of a zone's shares whom an event concerns. Participants are notified by their database subscriptions
/// to the shared database, which are stored in their own private databases.
struct EventAudience: Sendable {
    var user: String
    /// The part of the event that the participant may know of.
    var event: OutboxEvent
}

extension Notifications {
    /// The people whom a change of a shared zone concerns: those who may see some of what changed, and those who gained
    /// or lost access by it.
    ///
    /// Access is read at dispatch: a person who was removed in the meantime is notified that the zone is gone, and of
    /// nothing else.
    func audiences(
        of event: ShareEvent, in store: any RecordStore
    ) async throws -> [EventAudience] {
        let rows = try await store.read { reader -> [ShareAccessRow] in
            guard let zone = try reader.livingZone(named: event.zoneName) else { return [] }
            return try reader.audience(of: zone.key)
        }
        let access = Dictionary(grouping: rows, by: \.user)
        return event.affected.union(access.keys).sorted().compactMap { user in
            var types = event.recordTypes(seenWith: access[user] ?? [])
            if event.affected.contains(user) { types.insert(ShareDictionary.recordType) }
            guard !types.isEmpty else { return nil }
            let changes = types.sorted().map {
                // A subscription to a database only needs the record types.
                OutboxEvent.Change(recordName: "", recordType: $0, reason: .recordUpdated, row: nil)
            }
            return EventAudience(
                user: user,
                event: OutboxEvent(
                    zoneName: event.zoneName, user: event.user, device: event.device,
                    changes: changes,
                    subject: access[user] == nil ? .zoneDeleted : .records))
        }
    }
}
