import Foundation

/// A report about a cache's file for support: its queue, zones, tokens and recent events, as JSON
/// or text.
///
/// It has the names of zones, records and users. It has no values of fields unless the app
/// requested them, and only the first characters of tokens.
public struct DiagnosticsReport: Hashable, Sendable, Codable {
    /// A database of the file.
    public struct Database: Hashable, Sendable, Codable {
        /// 2 private, 3 shared.
        public var scope: Int
        /// The first 8 characters of the database's change token; nil when the next fetch begins without one.
        public var changeToken: String?
        /// Whether this device has saved the database subscription, as far as it knows.
        public var isSubscriptionSaved: Bool
        /// By how many milliseconds the service's clock is ahead of this device's.
        public var clockOffsetMilliseconds: Int64
        /// When changes were last fetched and stored; nil before the first time.
        public var lastFetch: Date?
        /// When the service last confirmed a change; nil before the first time.
        public var lastSend: Date?
    }

    /// A zone that the file has, whether or not the service has it.
    public struct Zone: Hashable, Sendable, Codable {
        /// The database of the zone: 2 private, 3 shared.
        public var scope: Int
        /// The zone's name, which is unique among the zones of its owner.
        public var name: String
        /// The record name of the zone's owner; `__defaultOwner__` stands for the current user.
        public var owner: String
        /// `wanted`, `existing`, `unwanted`, `replaced`, `refused` or `detached`.
        public var state: String
        /// The first 8 characters of the zone's change token; nil when the next fetch begins without one, and
        /// `gone` for a detached zone that the service no longer has.
        public var changeToken: String?
        /// Whether the zone is known to have changes that are not fetched yet.
        public var needsFetch: Bool
        /// Whether a full fetch of the zone, which begins without a token, has not ended.
        public var isRefetching: Bool
        /// The progress of the full fetch, in words; nil if none is running.
        public var progress: String?
        /// How many records of the zone are on this device.
        public var recordCount: Int
    }

    /// A change that the service has not confirmed.
    public struct Change: Hashable, Sendable, Codable {
        /// The database of the record: 2 private, 3 shared.
        public var scope: Int
        /// The name of the record's zone.
        public var zone: String
        /// The name of the record.
        public var name: String
        /// `save` or `delete`.
        public var kind: String
        /// When the record was last edited on this device.
        public var edited: Date
        /// Counts the edits of the record since it was last synced; see `PendingChange.generation`.
        public var generation: Int64
        /// How many times the conflict resolver was called for the change.
        public var conflictRounds: Int
        /// How many times sending the change failed for an unexplained reason.
        public var attempts: Int
        /// `notSent`, `unknown` or `underWay`.
        public var delivery: String
        /// Why it needs attention.
        public var failure: String?
        /// The names of the record's fields, with their values if the app requested them.
        public var fields: [String: String?]
    }

    /// When the report was made, by this device's clock.
    public var made: Date
    /// The format of the file.
    public var format: Int
    /// The record name of the user whose file this is; nil before its first sync.
    public var userRecordName: String?
    /// The raw value of a ``CacheAccount``; nil if the service has not been asked yet.
    public var account: String?
    /// False while syncing is turned off with ``CloudCache/setEnabled(_:)``.
    public var isEnabled: Bool
    /// The lines of ``CacheStatus/details``, if an app made the report.
    public var status: [String]
    /// The databases with content in the file, the private one first.
    public var databases: [Database]
    /// The zones of all databases, in the order in which they were added to the file.
    public var zones: [Zone]
    /// The oldest 1,000 pending changes.
    public var queue: [Change]
    /// The number of all pending changes, including those that ``queue`` leaves out.
    public var queueCount: Int
    /// How many reports of each kind the app has not acknowledged.
    public var reports: [String: Int]
    /// The last 500 events, the oldest first.
    public var events: [LoggedEvent]
    /// The number of rows in each table.
    public var rowCounts: [String: Int]
    /// The sizes, in bytes, of the file and the files that belong to it.
    public var fileBytes: [String: Int]

    /// The report as JSON, with sorted keys and ISO dates.
    public func json() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return try encoder.encode(self)
    }

    /// The report for a person.
    public var text: String {
        let user = userRecordName.map { "of \($0)" } ?? "without a user"
        var lines = ["Cache \(user), format \(format), \(Self.time(made))"]
        lines += status
        lines.append("Account: \(account ?? "unknown"), syncing \(isEnabled ? "on" : "off")")
        lines.append("")
        for (name, bytes) in fileBytes.sorted(by: { $0.key < $1.key }) {
            lines.append("\(name): \(bytes) bytes")
        }
        for (name, count) in rowCounts.sorted(by: { $0.key < $1.key }) {
            lines.append("\(name): \(count) rows")
        }
        for database in databases {
            lines.append("")
            lines.append(
                "Database \(Self.scope(database.scope)): token \(database.changeToken ?? "none"), "
                    + "subscription \(database.isSubscriptionSaved ? "saved" : "not saved"), "
                    + "clock \(database.clockOffsetMilliseconds) ms, "
                    + "last fetch \(Self.time(database.lastFetch)), "
                    + "last send \(Self.time(database.lastSend))")
            for zone in zones where zone.scope == database.scope {
                lines.append(
                    "  Zone \(zone.name) of \(zone.owner): \(zone.state), "
                        + "\(zone.recordCount) records, token \(zone.changeToken ?? "none")"
                        + (zone.needsFetch ? ", to be fetched" : "")
                        + (zone.isRefetching ? ", in a full fetch" : "")
                        + (zone.progress.map { ": \($0)" } ?? ""))
            }
        }
        lines.append("")
        lines.append("Queue: \(queueCount) changes")
        for change in queue { lines.append("  " + Self.line(of: change)) }
        for (kind, count) in reports.sorted(by: { $0.key < $1.key }) {
            lines.append("Unacknowledged reports, \(kind): \(count)")
        }
        lines.append("")
        lines.append("Events: \(events.count)")
        for event in events {
            let details = event.details.sorted { $0.key < $1.key }
                .map { "\($0.key)=\($0.value)" }.joined(separator: " ")
            lines.append("  \(Self.time(event.date)) \(event.level) \(event.kind) \(details)")
        }
        return lines.joined(separator: "\n")
    }

    private static func line(of change: Change) -> String {
        var line =
            "\(change.kind) \(change.zone)/\(change.name), edited \(time(change.edited)), "
            + "\(change.delivery), attempts \(change.attempts), conflicts \(change.conflictRounds)"
        if let failure = change.failure { line += ", refused: \(failure)" }
        if !change.fields.isEmpty {
            let fields = change.fields.sorted { $0.key < $1.key }
            line +=
                ", fields "
                + fields.map { name, value in value.map { "\(name)=\($0)" } ?? name }
                .joined(separator: " ")
        }
        return line
    }

    private static func time(_ date: Date?) -> String {
        date.map { $0.formatted(.iso8601) } ?? "never"
    }

    private static func scope(_ scope: Int) -> String { scope == 2 ? "private" : "shared" }
}

extension CloudCache {
    /// A report about the cache for support; see ``DiagnosticsReport``.
    ///
    /// ```swift
    /// let report = try await cache.diagnosticsReport()
    /// try report.json().write(to: attachment)
    /// ```
    ///
    /// - Parameter includingValues: whether to include the values of pending changes. They are the
    ///   user's data: ask the user first.
    /// - Throws: SQLite's error.
    public func diagnosticsReport(
        includingValues: Bool = false
    ) async throws -> DiagnosticsReport {
        let details = try await status().details
        // Writes the events that wait in memory.
        try file.write { _ in }
        let path = file.path
        var report = try await file.disk.read { [self] in
            try file.read { database in
                try CacheInspection(database, path: path)
                    .report(made: world.now, includingValues: includingValues)
            }
        }
        report.status = details.split(separator: "\n").map(String.init)
        return report
    }
}
