import Foundation
import StratusClient

/// A stored event in which something was lost, overruled or set aside, kept in the file until the
/// app acknowledges it.
///
/// The events `quotaExceeded`, `storageFull` and `halted` have no reports: they are states, which
/// ``CloudCache/status(in:)`` returns.
public struct CacheReport: Sendable, Identifiable {
    /// Later reports have greater numbers.
    public var id: Int64
    /// The database in which it happened.
    public var scope: CKDatabase.Scope
    /// When this device noted it, by its own clock.
    public var date: Date
    /// What was lost, overruled or set aside, with the records that it concerns.
    public var event: CacheEvent
}

/// The reports that the app has not acknowledged, the oldest first, then each new one.
///
/// It reads them from the file, so a slow reader misses none. It ends when the cache is closed or released, or the task
/// of the loop is cancelled. Reports that were not acknowledged are delivered again after a restart.
public struct CacheReports: AsyncSequence, Sendable {
    public typealias Element = CacheReport

    let file: CacheFile
    let wakes: AsyncStream<Void>

    public func makeAsyncIterator() -> Iterator {
        Iterator(file: file, wakes: wakes.makeAsyncIterator())
    }

    /// Delivers reports one at a time, the oldest first, and waits for the next one when there is none.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let file: CacheFile
        fileprivate var wakes: AsyncStream<Void>.Iterator
        fileprivate var last: Int64 = 0

        /// - Throws: SQLite's error when the file cannot be read.
        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> CacheReport? {
            repeat {
                let (file, last) = (file, last)
                guard
                    let next = try await file.readUntilEnd({
                        try file.reports(after: last, limit: 1).first
                    })
                else { return nil }
                if let report = next {
                    self.last = report.id
                    return report
                }
            } while await wakes.next(isolation: actor) != nil
            return nil
        }
    }
}

/// Reports of what was lost, overruled or set aside.
///
/// ```swift
/// for try await report in cache.reportStream() {
///     if case .editOverruled(let mine, _, _) = report.event, wantsToRestore(mine) {
///         try cache.restore(report)
///     }
///     try await cache.acknowledge([report])
/// }
/// ```
extension CloudCache {
    /// The oldest reports that the app has not acknowledged.
    public func reports(limit: Int = 100) throws -> [CacheReport] {
        try file.reports(after: 0, limit: limit)
    }

    /// All reports that the app has not acknowledged, and each new one; see ``CacheReports``.
    public func reportStream() -> CacheReports {
        CacheReports(file: file, wakes: observers.reportWakes())
    }

    /// Removes reports that the app has handled, such as by showing or storing them.
    ///
    /// - Throws: ``CacheError`` `storageFull`, or SQLite's error.
    public func acknowledge(_ reports: [CacheReport]) throws {
        try file.removeReports(reports.map(\.id))
        cachedAssets.noteChange()
    }
}
