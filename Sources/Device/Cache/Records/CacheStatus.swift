import StratusRecords
import StratusSync

/// Every question a person or a support desk asks: is it done, what is pending, why not.
public struct CacheStatus: Hashable, Sendable {
    /// Changes that the service has not confirmed, those that need attention not counted.
    public var pendingCount = 0
    /// Changes that the service refused for good; see ``RecordCache/attentionItems()``.
    public var attentionCount = 0
    /// Records on this device.
    public var recordCount = 0
    /// Records that the service has, as far as this device knows.
    public var recordsWithChangeTagCount = 0

    /// Whether the running loop was started.
    public var isRunning = false
    public var isEnabled = true
    public var isNetworkReachable = true
    public var isQuotaExceeded = false
    public var haltReason: HaltReason?
    public var operation: SyncOperation?
    public var lastOperation: SyncOperation?
    /// The pause after the next operation, in seconds.
    public var delaySeconds: Double = 0
    /// Failures in a row, those of the network not counted. A service that is overloaded is tried for
    /// as long as it takes; ``lastFailure`` says why.
    public var retryCount = 0
    public var lastFailure: SyncFailure?
    /// Milliseconds since 1970; nil before the first of this process.
    public var lastFetchMilliseconds: Int64?
    /// Milliseconds since 1970; nil before the first of this process.
    public var lastSendMilliseconds: Int64?

    public init() {}

    /// One word for a person.
    public var summary: String {
        if haltReason != nil { return "Halted" }
        if !isEnabled { return "Off" }
        if !isNetworkReachable { return "Offline" }
        if attentionCount > 0 { return "Attention" }
        if retryCount > 0 { return "Waiting" }
        if operation != nil || pendingCount > 0 { return "Syncing" }
        return "Done"
    }
}
