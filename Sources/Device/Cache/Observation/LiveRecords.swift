import Observation
import StratusClient

/// The current records of a query for a view, as an `@Observable` object.
///
/// It follows the cache without keeping it alive.
///
/// ```swift
/// @MainActor struct NoteList {
///     let notes: LiveRecords
///
///     init(_ cache: CloudCache) throws {
///         notes = try LiveRecords(CacheQuery("Note").sorted(by: "date"), of: cache)
///     }
///
///     var body: [String] { notes.records.map { $0["title"] ?? "" } }  // redrawn when it changes
/// }
/// ```
@MainActor @Observable public final class LiveRecords {
    /// The records, in the query's order.
    public private(set) var records = QueryResults()
    /// What the last update changed.
    public private(set) var changes: [RecordChange] = []
    /// Whether the records have been read at least once.
    public private(set) var isLoaded = false
    /// Why the records are no longer followed.
    public private(set) var error: (any Error)?

    @ObservationIgnored private var following: Task<Void, Never>?

    /// - Throws: `CKError.invalidArguments` that names the part that is not supported.
    public init(
        _ query: CacheQuery, of cache: CloudCache, in scope: CKDatabase.Scope = .private
    ) throws {
        let observation = try cache.observe(query, in: scope)
        following = cache.world.startTask("live records") { [weak self] in
            do {
                for try await update in observation {
                    guard let self else { return }
                    await self.show(update)
                }
            } catch {
                await self?.end(error)
            }
        }
    }

    isolated deinit { following?.cancel() }

    private func end(_ error: any Error) { self.error = error }

    private func show(_ update: QueryUpdate) {
        records = update.records
        changes = update.changes
        isLoaded = true
    }
}
