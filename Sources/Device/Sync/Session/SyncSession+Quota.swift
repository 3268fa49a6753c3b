import StratusRecords

/// An exceeded quota withholds only the saves into its owner's zones: deletions free storage, and
/// in a shared database each owner has their own quota.
extension SyncSession {
    /// The owners whose zones get no saves now.
    public var withheldOwners: Set<String> { Set(quotaRetries.keys) }

    /// Notes an exceeded quota.
    ///
    /// - Parameter owner: nil if the owner is unknown; then nothing is sent for a while.
    mutating func awaitQuota(
        _ failure: SyncFailure, of owner: String?, at uptimeSeconds: Double
    ) {
        isQuotaExceeded = true
        lastFailure = failure
        let retry =
            uptimeSeconds + max(settings.quotaRetrySeconds, failure.retryAfterSeconds ?? 0)
        if let owner {
            quotaRetries[owner] = retry
        } else {
            sendNotBeforeUptimeSeconds = retry
        }
    }

    /// Resumes saves whose retry time has come.
    mutating func resumeSaves(at uptimeSeconds: Double) {
        let due = quotaRetries.filter { $0.value <= uptimeSeconds }
        guard !due.isEmpty else { return }
        for owner in due.keys { quotaRetries[owner] = nil }
        hasPendingChanges = true
    }

    /// Resumes saves after deletions have freed storage.
    mutating func resumeSaves(after outcomes: [ItemOutcome], at uptimeSeconds: Double) {
        for outcome in outcomes where outcome.failure == nil && outcome.change.kind == .delete {
            let owner = outcome.change.id.zoneID.ownerName
            if quotaRetries[owner] != nil { quotaRetries[owner] = uptimeSeconds }
        }
    }
}
