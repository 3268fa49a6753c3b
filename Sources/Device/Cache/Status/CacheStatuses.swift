import StratusClient
import StratusSync

/// Reads a status from the file's databases, without holding their cache.
struct StatusSource: Sendable {
    let databases: [CachedDatabase]

    func status() async throws -> CacheStatus {
        var all: CacheStatus?
        for database in databases {
            var status = try await database.store.file.disk.read {
                var status = CacheStatus()
                try database.store.fillCounts(&status)
                return status
            }
            await database.driver.fillStatus(&status)
            all = all?.joined(with: status) ?? status
        }
        for database in databases {
            if await database.turn.isWaiting { all?.isSyncedElsewhere = true }
        }
        return all ?? CacheStatus()
    }

    /// The status for a sequence; nil if the sequence ends.
    func statusUntilEnd() async throws -> CacheStatus? {
        do {
            return try await status()
        } catch {
            if databases.contains(where: { $0.store.file.endsSequence(error) }) { return nil }
            throw error
        }
    }
}

/// The status of a cache as it is now, and then each new one.
///
/// A slow reader gets the newest status and skips older ones. The sequence ends when the cache is closed or released, or
/// the task of the loop is cancelled, and throws when the file cannot be read.
public struct CacheStatuses: AsyncSequence, Sendable {
    public typealias Element = CacheStatus

    let source: StatusSource
    let wakes: AsyncStream<Void>

    public func makeAsyncIterator() -> Iterator {
        Iterator(source: source, wakes: wakes.makeAsyncIterator())
    }

    /// Delivers the status as it is now, then each one that differs from the last delivered.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: StatusSource
        fileprivate var wakes: AsyncStream<Void>.Iterator
        fileprivate var last: CacheStatus?

        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws -> CacheStatus? {
            repeat {
                guard let status = try await source.statusUntilEnd() else { return nil }
                if status != last {
                    last = status
                    return status
                }
            } while await wakes.next(isolation: actor) != nil
            return nil
        }
    }
}

extension CloudCache {
    /// The status of one database, now and whenever it changes; see ``CacheStatuses``.
    ///
    /// - Parameter scope: a database.
    /// - Throws: ``CacheError`` `invalidDatabase`.
    public func statuses(in scope: CKDatabase.Scope) throws -> CacheStatuses {
        CacheStatuses(
            source: StatusSource(databases: [try database(scope)]),
            wakes: observers.statusWakes())
    }

    /// The status of all databases together, now and whenever it changes; see ``CacheStatuses``.
    ///
    /// ```swift
    /// for try await status in cache.statuses() { statusLabel.text = status.line }
    /// ```
    public func statuses() -> CacheStatuses {
        CacheStatuses(
            source: StatusSource(databases: databases), wakes: observers.statusWakes())
    }
}
