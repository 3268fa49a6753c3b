import GRDB
import StratusRecords

/// The progress of a full fetch of zones, such as a new device's first one.
///
/// What is applied is on the disk and found by queries, also after the process is killed: the fetch goes on with the
/// page that follows. Deleted records do not count.
///
/// ```swift
/// for try await status in cache.statuses() {
///     guard let fetch = status.fetch else { continue }
///     bar.value = Double(fetch.appliedCount) / Double(fetch.appliedCount + (fetch.remainingCount ?? 0))
/// }
/// ```
public struct FetchProgress: Hashable, Sendable {
    /// Records that the service has sent: those that are applied, and those of the page that is ahead.
    public var fetchedCount: Int
    /// Records that are written, by this process and by those before it.
    public var appliedCount: Int
    /// Records that this process writes in a second, on the average of the fetch; nil where it has written none.
    public var recordsPerSecond: Double?
    /// Records that are still to be applied, at the most: what was changed several times is counted as often. Nil where
    /// the service does not tell, as Apple's.
    public var remainingCount: Int?

    public init(
        fetchedCount: Int = 0, appliedCount: Int = 0, recordsPerSecond: Double? = nil,
        remainingCount: Int? = nil
    ) {
        self.fetchedCount = fetchedCount
        self.appliedCount = appliedCount
        self.recordsPerSecond = recordsPerSecond
        self.remainingCount = remainingCount
    }

    /// What is to be said of two zones, or two databases, together.
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
        let toCome = remainingCount.map { ", \($0) to come" } ?? ""
        return "\(appliedCount) records are here" + toCome
    }

    /// The same with all numbers.
    var details: String {
        let rate = recordsPerSecond.map { ", \(Int($0)) a second" } ?? ""
        return summary + "; \(fetchedCount) were fetched" + rate
    }
}

/// In the file, so that it counts what was applied, over restarts too.
extension FetchProgress {
    /// In the flag of the zone: what is applied, and what remains.
    private init(text: String) {
        let numbers = text.split(separator: " ").map { Int($0) }
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
        try String.fetchOne(
            database.cachedStatement(sql: "SELECT value FROM flag WHERE database = ? AND name = ?"),
            arguments: [scope, name]
        ).map { FetchProgress(text: $0) }
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
    func noteProgress(_ page: ZonePage, of zone: ZoneRow, _ database: Database) throws {
        guard zone.isRefetching else { return }
        guard page.moreComing else { return try forgetProgress(of: zone, database) }
        let name = FetchProgress.flagName(zone.key)
        let before = try FetchProgress.read(name, scope.rawValue, database) ?? FetchProgress()
        try before.adding(page).write(of: zone.key, in: self, database)
    }

    func forgetProgress(of zone: ZoneRow, _ database: Database) throws {
        try setText(nil, named: FetchProgress.flagName(zone.key), database)
    }
}
