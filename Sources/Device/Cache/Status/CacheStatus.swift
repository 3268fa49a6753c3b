import StratusRecords
import StratusSync

/// The state of syncing: whether it is done, what is pending, and why.
public struct CacheStatus: Hashable, Sendable {
    /// Changes that the service has not confirmed, without those that need attention.
    public var pendingCount = 0
    /// Changes that the service permanently refused; see `CloudCache.attentionItems()`.
    public var attentionCount = 0
    /// Reports that the app has not acknowledged; see `CloudCache.reports(limit:)`.
    public var reportCount = 0
    /// Zones that wait until the app is updated; see ``RecordVersions``.
    public var zonesAwaitingUpdate = 0
    /// Records on this device.
    public var recordCount = 0
    /// Records that the service has, as far as this device knows.
    public var recordsWithChangeTagCount = 0

    /// Whether the running loop was started.
    public var isRunning = false
    /// Whether the loop was started, but another process syncs this file; this one takes over when it ends.
    public var isSyncedElsewhere = false
    /// False while syncing is turned off with ``CloudCache/setEnabled(_:)``.
    public var isEnabled = true
    /// False after a failure of the network, until a request succeeds or the network is back.
    public var isNetworkReachable = true
    /// Whether saves wait because an account's storage at the service is full.
    public var isQuotaExceeded = false
    /// Whether the last write while syncing failed because the device's storage is full.
    public var isStorageFull = false
    /// Why syncing halted; nil while it has not.
    public var haltReason: HaltReason?
    /// The operation that is being performed; nil between operations.
    public var operation: SyncOperation?
    /// The operation that ended last, regardless of its outcome; nil before the first one.
    public var lastOperation: SyncOperation?
    /// The pause after the next operation, in seconds.
    public var delaySeconds: Double = 0
    /// Consecutive failures, without those of the network. Requests to an overloaded service are
    /// repeated without limit; ``lastFailure`` says why.
    public var retryCount = 0
    /// The last failure; nil again after a success, unless the quota is still exceeded.
    public var lastFailure: SyncFailure?
    /// The progress of a full fetch of zones, such as a new device's first one; nil if none is
    /// running.
    public var fetch: FetchProgress?
    /// What is known about the account.
    public var account = CacheAccount.unknown
    /// The user whose file this is; nil before its first sync.
    public var userRecordName: String?
    /// When the service's changes were fetched last, in milliseconds since 1970, kept over restarts; nil before the
    /// first time.
    public var lastFetchMilliseconds: Int64?
    /// When the service confirmed a change last, in milliseconds since 1970, kept over restarts; nil before the first
    /// time.
    public var lastSendMilliseconds: Int64?

    /// Makes the status of a cache that has no records and has not synced yet.
    public init() {}

    /// The combined status of two databases.
    func joined(with other: CacheStatus) -> CacheStatus {
        var both = self
        both.pendingCount += other.pendingCount
        both.attentionCount += other.attentionCount
        both.reportCount += other.reportCount
        both.zonesAwaitingUpdate += other.zonesAwaitingUpdate
        both.recordCount += other.recordCount
        both.recordsWithChangeTagCount += other.recordsWithChangeTagCount
        both.isRunning = isRunning || other.isRunning
        both.isEnabled = isEnabled && other.isEnabled
        both.isNetworkReachable = isNetworkReachable && other.isNetworkReachable
        both.isStorageFull = isStorageFull || other.isStorageFull
        both.isQuotaExceeded = isQuotaExceeded || other.isQuotaExceeded
        both.haltReason = haltReason ?? other.haltReason
        both.operation = operation ?? other.operation
        both.lastOperation = lastOperation ?? other.lastOperation
        both.delaySeconds = max(delaySeconds, other.delaySeconds)
        both.retryCount = max(retryCount, other.retryCount)
        both.lastFailure = lastFailure ?? other.lastFailure
        both.fetch = [fetch, other.fetch].compactMap(\.self).reduce(nil) { one, other in
            one?.joined(with: other) ?? other
        }
        both.lastFetchMilliseconds = Self.earlier(
            lastFetchMilliseconds, other.lastFetchMilliseconds)
        both.lastSendMilliseconds =
            [lastSendMilliseconds, other.lastSendMilliseconds].compactMap(\.self).max()
        return both
    }

    /// Nil if either is nil: a database that was never fetched is not up to date.
    private static func earlier(_ first: Int64?, _ second: Int64?) -> Int64? {
        first.flatMap { first in second.map { min(first, $0) } }
    }

    /// A short description for a person.
    public var summary: String {
        if haltReason != nil { return "Halted" }
        if !isEnabled { return "Off" }
        if isStorageFull { return "Storage full" }
        if !isNetworkReachable { return "Offline" }
        if zonesAwaitingUpdate > 0 { return "Update" }
        if attentionCount > 0 { return "Attention" }
        if isQuotaExceeded { return "Account full" }
        if retryCount > 0 { return "Waiting" }
        if operation != nil || pendingCount > 0 { return "Syncing" }
        return "Done"
    }
}
