import Algorithms
import StratusClient
import StratusRecords
import StratusSync

/// Changes that the service permanently refused, and how to resolve them.
///
/// ```swift
/// for item in try await cache.attentionItems() {
///     print(item.recordID.recordName, item.failure.message)
/// }
/// try await cache.retryAttentionItems()  // the cause is gone
/// try await cache.takeServiceVersions(of: cache.attentionItems())  // or the service is right
/// ```
extension CloudCache {
    /// Changes that the service permanently refused: first those of the private database, then those of the shared one,
    /// the oldest first in each.
    public func attentionItems() throws -> [AttentionItem] {
        try databases.flatMap { try $0.store.attentionItems() }
    }

    /// Retries changes that were set aside; all of them if `items` is nil.
    public func retryAttentionItems(_ items: [AttentionItem]? = nil) throws {
        for (database, ids) in chosen(items) {
            let zones = try database.store.retrySetAside(ids)
            database.notifyDriver(ofZones: zones, hasChanges: true)
        }
    }

    /// Undoes changes that were set aside, without a request to the service: the records become what the service had
    /// when this device last fetched them, and a record that it never had is removed.
    ///
    /// An item that was edited or retried meanwhile is left alone.
    ///
    /// - Throws: ``CacheError`` `storageFull`, or SQLite's error.
    public func discardAttentionItems(_ items: [AttentionItem]) throws {
        for (database, ids) in chosen(items) {
            observers.notify(try database.store.discardSetAside(ids ?? []))
        }
    }

    /// Fetches the records of changes that were set aside, and replaces them with the service's versions; a
    /// record that the service does not have is removed here too.
    ///
    /// An item that was edited or retried meanwhile is left alone, as is one whose record was fetched in another
    /// version meanwhile; request the remaining ones again.
    ///
    /// - Throws: ``CacheError`` `notSynced` when the service cannot be asked, or does not answer
    ///   for all of them; the answers that did arrive are used. `halted` when another user is
    ///   signed in.
    public func takeServiceVersions(of items: [AttentionItem]) async throws {
        for (database, ids) in chosen(items) {
            try await takeServiceVersions(of: ids ?? [], database)
        }
    }

    /// The number of records in one request at first; fewer if the service refuses so many.
    private static let recordsPerLookup = 100

    private func takeServiceVersions(
        of ids: [RecordID], _ database: CachedDatabase
    ) async throws {
        let (store, remote) = (database.store, database.driver.remote)
        var failure: SyncFailure?
        for chunk in ids.chunks(ofCount: Self.recordsPerLookup) {
            let asked = Array(chunk)
            let generations = try await file.disk.read { try store.generationsOfSetAside(asked) }
            let answers: [Result<RecordSnapshot?, SyncFailure>]
            do {
                let user = try await remote.userRecordName()
                guard try await file.disk.read({ try store.isOpen(to: user) }) else {
                    throw CacheError.otherUser(ofFileAt: file.path)
                }
                answers = try await remote.recordsInHalves(asked)
            } catch let failure as SyncFailure {
                throw CacheError(
                    .notSynced,
                    "The service's versions of the records were not fetched (\(ids.count)); nothing is"
                        + " lost. Try again later.",
                    failure: failure)
            }
            var found:
                [(
                    id: RecordID, server: RecordSnapshot?,
                    generation: CacheStore.SetAsideGeneration
                )] = []
            for (id, answer) in zip(asked, answers) {
                switch answer {
                case .success(let server):
                    if let generation = generations[id] { found.append((id, server, generation)) }
                case .failure(let problem): failure = problem
                }
            }
            let taken = found
            let outcome = try await file.disk.write { try store.takeInsteadOfSetAside(taken) }
            observers.notify(outcome)
            database.notifyDriver(ofZones: Array(outcome.staleZones), hasChanges: true)
        }
        if let failure {
            throw CacheError(
                .notSynced,
                "The service's versions of some of the records were not fetched (of \(ids.count));"
                    + " nothing is lost. Try again later.",
                failure: failure)
        }
    }

    /// The items by database; all of each if `items` is nil.
    private func chosen(_ items: [AttentionItem]?) -> [(CachedDatabase, [RecordID]?)] {
        databases.compactMap { database in
            guard let items else { return (database, nil) }
            let ids = items.filter { $0.scope == database.scope }.map { RecordID($0.recordID) }
            return ids.isEmpty ? nil : (database, ids)
        }
    }
}
