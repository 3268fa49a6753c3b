import StratusRecords
import StratusStorage
import StratusWire

/// A participant of a zone's shares whom news concerns.
///
/// Told through the participant's database subscriptions to the shared database, which are stored in
/// the participant's own private one.
struct NewsAudience: Sendable {
    var user: String
    /// The part of the news that the participant may know of.
    var news: News
}

extension Notifications {
    /// Whom a change of a shared zone concerns: who may see something of what changed, and who gained or
    /// lost access by it.
    ///
    /// Who has access is read when it is told: somebody who was removed meanwhile is told that the zone
    /// is gone, and no more.
    func audiences(
        of news: ShareNews, in store: any RecordStore
    ) async throws -> [NewsAudience] {
        let rows = try await store.read { reader -> [ShareAccessRow] in
            guard let zone = try reader.livingZone(named: news.zoneName) else { return [] }
            return try reader.audience(of: zone.key)
        }
        let access = Dictionary(grouping: rows, by: \.user)
        return news.affected.union(access.keys).sorted().compactMap { user in
            var types = news.recordTypes(seenWith: access[user] ?? [])
            if news.affected.contains(user) { types.insert(ShareDictionary.recordType) }
            guard !types.isEmpty else { return nil }
            let changes = types.sorted().map {
                // Subscriptions to a database ask for the types alone.
                News.Change(recordName: "", recordType: $0, reason: .recordUpdated, row: nil)
            }
            return NewsAudience(
                user: user,
                news: News(
                    zoneName: news.zoneName, user: news.user, device: news.device, changes: changes,
                    subject: access[user] == nil ? .zoneDeleted : .records))
        }
    }
}
