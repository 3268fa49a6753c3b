import Observation
import StratusSync
import Synchronization

/// A cache's status for views: an observable object that is always up to date.
///
/// ```swift
/// struct SyncLine: View {
///     let live: LiveStatus  // LiveStatus(of: cache)
///     var body: some View { Text(live.status.line) }
/// }
/// ```
///
/// It follows the cache until either is gone, and keeps neither the cache nor its file open.
@MainActor @Observable public final class LiveStatus {
    /// The newest status; empty before the file was read.
    public private(set) var status = CacheStatus()
    /// Why the status is no longer followed: the file could not be read.
    public private(set) var error: (any Error)?

    @ObservationIgnored private nonisolated let task = Mutex<Task<Void, Never>?>(nil)

    /// Starts to follow the status of all databases of a cache together.
    public init(of cache: CloudCache) {
        let statuses = cache.statuses()
        let task = cache.world.startTask("live status") { [weak self] in
            do {
                for try await status in statuses { await self?.take(status) }
            } catch {
                await self?.take(error)
            }
        }
        self.task.withLock { $0 = task }
    }

    deinit { task.withLock { $0 }?.cancel() }

    private func take(_ status: CacheStatus) { self.status = status }
    private func take(_ error: any Error) { self.error = error }
}
