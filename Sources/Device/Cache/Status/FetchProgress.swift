import GRDB
import StratusRecords

/// The progress of a full fetch of zones, such as a new device's first one.
///
/// Applied records are durable and found by queries, also after the process is killed: the fetch
/// continues with the next page. Deleted records are not counted.
///
/// ```swift
/// for try await status in cache.statuses() {
///     guard let fetch = status.fetch else { continue }
///     bar.value = Double(fetch.appliedCount) / Double(fetch.appliedCount + (fetch.remainingCount ?? 0))
/// }
/// ```
public struct FetchProgress: Hashable, Sendable {
    /// Records that the service has sent: the applied ones, and those of pages that were requested
    /// ahead.
    public var fetchedCount: Int
    /// Records that are stored, by this process and by those before it.
    public var appliedCount: Int
    /// Records that this process stores per second, on average; nil if it has stored none.
    public var recordsPerSecond: Double?
    /// The maximum number of records still to apply: a record with several changes is counted for
    /// each. Nil if the service does not say, as Apple's does not.
    public var remainingCount: Int?

    /// Makes a progress value; by default that of a fetch that has received nothing yet.
    public init(
        fetchedCount: Int = 0, appliedCount: Int = 0, recordsPerSecond: Double? = nil,
        remainingCount: Int? = nil
    ) {
        self.fetchedCount = fetchedCount
        self.appliedCount = appliedCount
        self.recordsPerSecond = recordsPerSecond
        self.remainingCount = remainingCount
    }

    /// The combined progress of two zones or databases.
    func joined(with other: FetchProgress) -> FetchProgress {
        FetchProgress(
            fetchedCount: fetchedCount + other.fetchedCount,
            appliedCount: appliedCount + other.appliedCount,
            recordsPerSecond: [recordsPerSecond, other.recordsPerSecond].compactMap(\.self)
                .reduce(nil) { ($0 ?? 0) + $1 },
            remainingCount: remainingCount.flatMap { one in
                other.remainingCount.map { one + $0 }
            })
    }

    /// A few words for a person.
    var summary: String {
        let toCome = remainingCount.map { ", \($0) remaining" } ?? ""
        return "\(appliedCount) records are here" + toCome
    }

    /// The summary with all numbers.
    var details: String {
        let rate = recordsPerSecond.map { ", \(Int($0)) a second" } ?? ""
        return summary + "; \(fetchedCount) were fetched" + rate
    }
}

/// Stored in the file, so that applied records are still counted after a restart.
extension FetchProgress {
    /// Reads the zone's flag: the applied and the remaining count.
    private init(text: String) {
        let numbers = text.split(separator: " ").map { Int32($0).map { max(0, Int($0)) } }
        let applied = numbers.first.flatMap(\.self) ?? 0
        self.init(
            fetchedCount: applied, appliedCount: applied,
            remainingCount: numbers.dropFirst().first.flatMap(\.self))
    }

    private var text: String {
        "\(appliedCount)" + (remainingCount.map { " \($0)" } ?? "")
    }

    static func flagName(_ zoneKey: Int64) -> String { "applied/\(zoneKey)" }

    /// Counts a page, in its transaction.
    func adding(_ page: ZonePage) -> FetchProgress {
        var progress = self
        progress.appliedCount += page.records.count
        progress.remainingCount = page.remainingCount
        return progress
    }

    static func read(_ name: String, _ scope: Int, _ database: Database) throws -> FetchProgress? {
        try CacheFlag.value(named: name, ofDatabase: scope, database)
            .map { FetchProgress(text: $0) }
    }

    static func readAll(_ scope: Int, _ database: Database) throws -> FetchProgress? {
        let texts = try String.fetchAll(
            database.cachedStatement(
                sql: """
                    SELECT value FROM flag
                    WHERE database = ? AND name LIKE 'applied/%' AND value IS NOT NULL
                    """), arguments: [scope])
        return texts.map { FetchProgress(text: $0) }.reduce(nil) { $0?.joined(with: $1) ?? $1 }
    }

    func write(of zoneKey: Int64, in store: CacheStore, _ database: Database) throws {
        try store.setText(text, named: Self.flagName(zoneKey), database)
    }
}

extension CacheStore {
    /// Counts a page of a full fetch.
    func noteProgress(_ page: ZonePage, of zone: CachedZoneRow, _ database: Database) throws {
        guard zone.isRefetching else { return }
        guard page.moreComing else { return try forgetProgress(of: zone, database) }
        let name = FetchProgress.flagName(zone.key)
        let before = try FetchProgress.read(name, scope.rawValue, database) ?? FetchProgress()
        try before.adding(page).write(of: zone.key, in: self, database)
    }

    func forgetProgress(of zone: CachedZoneRow, _ database: Database) throws {
        try setText(nil, named: FetchProgress.flagName(zone.key), database)
    }
}
