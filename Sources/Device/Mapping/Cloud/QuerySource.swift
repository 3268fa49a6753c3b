import Foundation
import StratusClient

/// A database without a change feed, such as the public one: changes are queried by modification
/// date.
struct QuerySource: DatabaseSource {
    let requests: DatabaseRequests
    var tellsDeletions: Bool { false }

    /// How far a query goes back before the newest known record: a save may become visible after
    /// one with a later date.
    static let overlapMilliseconds: Int64 = 60_000
    private static let subscriptionPrefix = "stratus-mapping-type-"

    func userRecordName() async throws -> String? { nil }

    func isPrepared() async throws -> Bool { true }

    func prepare() async throws {}

    func changes(ofType type: String, since mark: String?) async throws -> RemoteChanges {
        let since = mark.flatMap { Int64($0) }
        let predicate: NSPredicate
        if let since {
            let date = Date(wholeMilliseconds: since - Self.overlapMilliseconds)
            predicate = NSPredicate(format: "modificationDate >= %@", date as NSDate)
        } else {
            predicate = NSPredicate(value: true)
        }
        let found = try await requests.all(CKQuery(recordType: type, predicate: predicate))
        let dates = found.records.values.compactMap { $0.modificationDate?.wholeMilliseconds }
        return RemoteChanges(
            records: found.records, unreadable: found.unreadable, isComplete: since == nil,
            mark: max(dates.max() ?? 0, since ?? 0).description)
    }

    func records(
        ofType type: String, where field: String, is value: String
    ) async throws -> [CKRecord] {
        let predicate = NSPredicate(format: "%K == %@", field, value)
        // Those that cannot be read stay in the cloud, and are requested again by the next sync.
        return Array(
            try await requests.all(CKQuery(recordType: type, predicate: predicate)).records.values)
    }

    func subscribe(types: [String]) async throws {
        let subscriptions = types.map { type -> CKSubscription in
            let subscription = CKQuerySubscription(
                recordType: type, predicate: NSPredicate(value: true),
                subscriptionID: Self.subscriptionPrefix + type)
            subscription.notificationInfo = .silent
            return subscription
        }
        let results = try await database.modifySubscriptions(saving: subscriptions, deleting: [])
        for result in results.saveResults.values { _ = try result.get() }
    }

    func isAbout(_ notification: CKNotification) async -> (isOurs: Bool, type: String?) {
        guard let id = notification.subscriptionID, id.hasPrefix(Self.subscriptionPrefix) else {
            return (false, nil)
        }
        return (true, String(id.dropFirst(Self.subscriptionPrefix.count)))
    }
}
