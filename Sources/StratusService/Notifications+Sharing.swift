import StratusRecords
import StratusStorage

/// Somebody beside a database's own subscribers whom its news concerns: a participant of a share.
///
/// Told through the participant's database subscriptions to the shared database, which are stored in
/// the participant's own private one.
struct NewsAudience: Sendable {
    var user: String
    /// The part of the news that the participant may know of.
    var news: News
}

extension Notifications {
    /// The participants whom a private database's news concerns: nobody, until sharing is served.
    ///
    /// Asked once for each piece of news of a database whose reader ``StratusStorage/StoreReader``
    /// says that it has participants.
    func audiences(of news: News, in store: any RecordStore) async throws -> [NewsAudience] { [] }
}

extension StoreReader {
    /// Whether people other than its owner may see something of a database. Remembered with the
    /// database's subscriptions: who changes it calls ``SubscriptionBook/changed(in:)``.
    func hasParticipants() throws -> Bool { false }
}
