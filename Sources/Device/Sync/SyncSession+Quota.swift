import StratusRecords

/// A full quota withholds the saves of those whose it is, and nothing else: deletions make room, and
/// in a shared database each owner has a quota of their own.
extension SyncSession {
    /// The owners into whose zones no save goes now.
    public var withheldOwners: Set<String> { Set(quotaRetries.keys) }

    /// Notes a full quota.
    ///
    /// - Parameter owner: nil where it is not known whose it is; then nothing is sent for a while.
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

    /// Lets saves go out again whose time has come.
    mutating func resumeSaves(at uptimeSeconds: Double) {
        let due = quotaRetries.filter { $0.value <= uptimeSeconds }
        guard !due.isEmpty else { return }
        for owner in due.keys { quotaRetries[owner] = nil }
        hasPendingChanges = true
    }

    /// Deletions have made room: what waits for it is tried again after them.
    mutating func resumeSaves(after outcomes: [ItemOutcome], at uptimeSeconds: Double) {
        for outcome in outcomes where outcome.failure == nil && outcome.change.kind == .delete {
            let owner = outcome.change.id.zoneID.ownerName
            if quotaRetries[owner] != nil { quotaRetries[owner] = uptimeSeconds }
        }
    }
}
