import Foundation
import GRDB
import StratusClient
import StratusSQLite
import Synchronization

/// A cache's file in memory, for tests and for data that need not outlive the process.
///
/// Like a file on disk, it outlives the caches that open it. A test can end a cache's process at any point: before or
/// after any write, or with `CloudCache.close()` between two of them; a cache that is then opened on the same file
/// finds what was committed.
///
/// ```swift
/// let file = try MemoryCacheFile()
/// file.setWriteFailure { $0 == 7 ? .killedAfter : nil }
/// let cache = try CloudCache(memory: file, container: container)
/// // … its seventh write is committed, and is the last thing that it does.
/// let next = try CloudCache(memory: file, container: container)
/// ```
public final class MemoryCacheFile: Sendable {
    /// How a write fails.
    public enum WriteFailure: Hashable, Sendable {
        /// The storage is full: the write fails, and nothing of it is kept.
        case storageFull
        /// The process ends before the write: nothing of it is kept.
        case killedBefore
        /// The process ends after the write is committed and before it returns.
        case killedAfter
    }

    private struct State {
        var writeCount = 0
        var failure: (@Sendable (_ number: Int) -> WriteFailure?)?
        /// The locks of the caches that sync, by database.
        var syncs: [CKDatabase.Scope: ObjectIdentifier] = [:]
        /// The watches of the caches that have the file open, in the order in which they opened it.
        var watches: [(lock: ObjectIdentifier, body: @Sendable () -> Void)] = []
    }

    private static let template = Result {
        try CacheFormat.format.openInMemory(configuration: configuration)
    }
    private static let new = Result { try NewDatabase(template.get()) }

    let queue: DatabaseQueue
    /// The connection's observer of app statements, shared by all caches: whenever an observer is added or removed,
    /// GRDB prepares all deleting statements again.
    let appStatements: AppStatements
    /// The folder with the files of assets; nil if none are kept.
    let assetFolder: String?
    private let state = Mutex(State())
    /// Where the connection is kept for reuse once the file is no longer used, and for which kind of files.
    private let sparePool: (spares: SpareConnections<AppStatements>, kind: String)?

    /// Makes an empty file.
    ///
    /// - Parameter assetFolder: a folder, created with the first asset, for the files of assets, which are never in
    ///   memory; without one, records with assets are refused.
    /// - Throws: SQLite's error.
    public init(assetFolder: URL? = nil) throws {
        self.assetFolder = assetFolder?.path
        sparePool = nil
        (queue, appStatements) = try Self.opened()
    }

    /// Makes an empty file, reusing the connection of an earlier one if there is one.
    ///
    /// - Parameter kind: files of one kind are used by caches that declare the same types.
    package init(
        assetFolder: URL?, from spares: SpareCacheFiles, kind: String
    ) throws {
        self.assetFolder = assetFolder?.path
        sparePool = (spares.connections, kind)
        (queue, appStatements) =
            try spares.connections.take(kind: kind, as: Self.new.get()) ?? Self.opened()
    }

    deinit {
        if let sparePool { sparePool.spares.give(queue, appStatements, kind: sparePool.kind) }
    }

    private static func opened() throws -> (DatabaseQueue, AppStatements) {
        let queue = try CacheFormat.format.openInMemory(
            copying: template.get(), configuration: configuration)
        let appStatements = AppStatements()
        queue.add(transactionObserver: appStatements, extent: .databaseLifetime)
        return (queue, appStatements)
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "StratusCache"
        configuration.prepareDatabase { $0.add(function: CacheFormat.nameHash) }
        return configuration
    }

    /// How many writes all caches of the file have begun so far.
    public var writeCount: Int { state.withLock { $0.writeCount } }

    /// Sets which writes fail from now on, and how.
    ///
    /// - Parameter failure: called before each write with its number, from 1; it returns nil for a write that succeeds.
    ///   Pass nil to let all writes succeed.
    public func setWriteFailure(_ failure: (@Sendable (_ number: Int) -> WriteFailure?)?) {
        state.withLock { $0.failure = failure }
    }

    /// Changes the file without going through a cache, as a faulty release could have done.
    package func execute(_ sql: String) throws {
        try queue.write { try $0.execute(sql: sql) }
    }

    /// The value of a database's flag, such as `clockOffset`; nil if it is not set.
    package func flag(_ name: String, ofDatabase scope: Int) throws -> String? {
        try queue.unsafeRead { try StoredCacheFile.flag(name, ofDatabase: scope, $0) }
    }

    /// Whether a zone with records was fetched, so that its deletion can be repeated after a restore of the service.
    package func isKnown(zone name: String, ofDatabase scope: Int) throws -> Bool {
        try queue.unsafeRead { try StoredCacheFile.isKnown(zone: name, ofDatabase: scope, $0) }
    }

    /// The number of rows in each table.
    package func rowCounts() throws -> [String: Int] {
        // Another kind of read sets `query_only`, after which SQLite prepares all statements of a connection again.
        try queue.unsafeRead { try StoredCacheFile.rowCounts($0) }
    }

    func nextWriteFailure() -> WriteFailure? {
        let (number, failure) = state.withLock { state in
            state.writeCount += 1
            return (state.writeCount, state.failure)
        }
        return failure?(number)
    }

    /// - Returns: whether the cache of this lock is the one that syncs the database.
    func takeLock(_ lock: ObjectIdentifier, of scope: CKDatabase.Scope) -> Bool {
        state.withLock { state in
            if state.syncs[scope] == nil { state.syncs[scope] = lock }
            return state.syncs[scope] == lock
        }
    }

    func giveLockBack(_ lock: ObjectIdentifier, of scope: CKDatabase.Scope) {
        state.withLock { state in
            if state.syncs[scope] == lock { state.syncs[scope] = nil }
        }
    }

    func giveLocksBack(_ lock: ObjectIdentifier) {
        state.withLock { state in
            state.syncs = state.syncs.filter { $0.value != lock }
        }
    }

    /// Calls a body whenever another cache has written into the file, until its lock is closed.
    func watch(_ lock: ObjectIdentifier, _ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.watches.append((lock, body)) }
    }

    func endWatch(_ lock: ObjectIdentifier) {
        state.withLock { $0.watches.removeAll { $0.lock == lock } }
    }

    /// Notifies the other caches that this one wrote into the file, or released its lock.
    func touch(_ lock: ObjectIdentifier) {
        let others = state.withLock { $0.watches.filter { $0.lock != lock } }
        for other in others { other.body() }
    }
}

/// The connections of earlier files in memory, kept for reuse.
package final class SpareCacheFiles: Sendable {
    fileprivate let connections = SpareConnections<AppStatements>()

    package init() {}
}
