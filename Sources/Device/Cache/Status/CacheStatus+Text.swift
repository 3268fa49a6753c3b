import Foundation
import StratusSync

/// A status as text for people.
extension CacheStatus {
    /// One line for a person: the state, and what it means for their changes.
    ///
    /// ```swift
    /// statusLabel.text = try await cache.status().line  // "Offline. 3 changes wait on this device."
    /// ```
    public var line: String {
        let waiting =
            switch pendingCount {
            case 0: ""
            case 1: " 1 change waits on this device."
            default: " \(pendingCount) changes wait on this device."
            }
        if let haltReason { return haltReason.summary + waiting }
        if !isEnabled { return "Syncing is off." + waiting }
        if isStorageFull { return "This device is full; free some space to continue." + waiting }
        if !isNetworkReachable { return "Offline." + waiting }
        if zonesAwaitingUpdate > 0 {
            return "A newer app has written records; update this one to sync everything." + waiting
        }
        if attentionCount > 0 {
            let refused =
                attentionCount == 1
                ? "The service refused 1 change." : "The service refused \(attentionCount) changes."
            return refused + waiting
        }
        if isQuotaExceeded { return "The account's storage at the service is full." + waiting }
        if retryCount > 0 {
            return "The service is not answering correctly; trying again." + waiting
        }
        if operation?.activity == .fetching {
            return "Fetching changes…" + (fetch.map { " \($0.summary)." } ?? "")
        }
        if pendingCount > 0 || operation != nil {
            return pendingCount == 1 ? "Sending 1 change…" : "Sending \(pendingCount) changes…"
        }
        if lastFetchMilliseconds == nil { return "Not synced yet." }
        return "All changes are synced."
    }

    /// Everything that the status has, one line each.
    ///
    /// Times are in UTC. It has no names of records and no values.
    public var details: String {
        var lines = [
            line,
            "Pending changes: \(pendingCount)",
            "Changes that need attention: \(attentionCount)",
            "Unacknowledged reports: \(reportCount)",
            "Zones that wait for an update of the app: \(zonesAwaitingUpdate)",
            "Records here: \(recordCount), of which the service has \(recordsWithChangeTagCount)",
            "Full fetch: \(fetch?.details ?? "none")",
            "Last fetch: \(Self.time(lastFetchMilliseconds))",
            "Last send: \(Self.time(lastSendMilliseconds))",
            "Account: \(account.summary)",
            "Current operation: \(operation?.summary ?? "none")",
            "Last operation: \(lastOperation?.summary ?? "none")",
            "Pause after the next operation: \(delaySeconds) s",
            "Halted: \(haltReason?.summary ?? "no")",
            "Retries: \(retryCount)",
            "Last failure: \(lastFailure.map { "\($0.code) \($0.message)" } ?? "none")",
            "Syncing: \(isEnabled ? "on" : "off"), loop \(isRunning ? "running" : "not running")",
            "Network: \(isNetworkReachable ? "reachable, as far as known" : "not reachable")",
        ]
        if isSyncedElsewhere { lines.append("Another process syncs this file.") }
        if isQuotaExceeded { lines.append("The account's storage at the service is full.") }
        if isStorageFull { lines.append("This device is full.") }
        return lines.joined(separator: "\n")
    }

    static func time(_ milliseconds: Int64?) -> String {
        guard let milliseconds else { return "never" }
        return Date(timeIntervalSince1970: Double(milliseconds) / 1_000).formatted(.iso8601)
    }
}

extension SyncOperation {
    /// A few words, without the names of records.
    var summary: String {
        switch self {
        case .modifyZones(let create, let delete):
            "create \(create.count) zones, delete \(delete.count)"
        case .saveSubscription: "save the subscription"
        case .fetchDatabaseChanges: "fetch the database's changes"
        case .fetchZoneChanges(let zone): "fetch the changes of zone \(zone.name)"
        case .send(let itemLimit, _): "send up to \(itemLimit) changes"
        }
    }

    /// The name of the operation's kind, for spans.
    var kindName: String {
        switch self {
        case .modifyZones: "modifyZones"
        case .saveSubscription: "saveSubscription"
        case .fetchDatabaseChanges: "fetchDatabaseChanges"
        case .fetchZoneChanges: "fetchZoneChanges"
        case .send: "send"
        }
    }
}
