import Foundation
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization
import Testing

@testable import StratusCache

/// A device of a test: a file, a link to the real service, and its own clock.
final class Device: Sendable {
    let link: ServiceLink
    let connection: CloudConnection
    let scope: CKDatabase.Scope
    let path: String
    let time: TestTime
    private let open: @Sendable (RecordVersions) throws -> CloudCache
    private let app: Mutex<RecordVersions>
    private let opened: Mutex<CloudCache>

    /// The versions of the app that opens the file at the next restart.
    var versions: RecordVersions {
        get { app.withLock { $0 } }
        set { app.withLock { $0 = newValue } }
    }

    var cache: CloudCache { opened.withLock { $0 } }

    /// The database at the service, as the cache uses it.
    var remote: any RemoteDatabase { connection.remote(scope) }

    init(
        _ cloud: RealService, user: String = "alice", time: TestTime = TestTime(),
        settings: SyncSettings = .quick,
        resolver: (any ConflictResolver)? = nil, editDateKey: String? = nil,
        scope: CKDatabase.Scope = .private, otherScopes: [CKDatabase.Scope] = [],
        versions: RecordVersions = RecordVersions()
    ) throws {
        app = Mutex(versions)
        link = ServiceLink(cloud, user: user)
        // With the same clock: on a slow machine an answer may take as long as a clock is wrong, and then the offset
        // cannot be determined.
        connection = link.connection(time.world)
        self.scope = scope
        self.time = time
        time.follow(cloud.time.world.nowMilliseconds)
        let path = NSTemporaryDirectory() + "cache-\(UUID().uuidString).sqlite"
        self.path = path
        try EmptyCacheFile.write(to: path)
        let resolver =
            resolver
            ?? (editDateKey == nil ? FieldWise() : LatestEditWins(editDateKey: editDateKey))
        open = { [connection] versions in
            try CloudCache(
                path: path, remotes: ([scope] + otherScopes).map { connection.remote($0) },
                settings: settings,
                resolver: resolver, editDateKey: editDateKey, versions: versions,
                world: time.world)
        }
        opened = Mutex(try open(versions))
    }

    deinit {
        for suffix in ["", "-wal", "-shm", "-lock", "-assets"] {
            // A file that was never created need not be removed.
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    /// Another user signs in.
    func signIn(_ user: String) async throws { try await link.signIn(user, on: connection) }

    func restart() throws {
        try opened.withLock { cache in
            try cache.close()
            cache = try open(versions)
        }
    }

    /// Ends the process and starts it again: nothing is left in memory.
    ///
    /// - Parameter between: Runs while the file is closed.
    func restart(_ between: () throws -> Void) throws {
        try opened.withLock { cache in
            try cache.close()
            // A reader may close the file a little later.
            try DatabaseUse.waitUntilClosed(path)
            try between()
            cache = try open(versions)
        }
    }

    func save(_ name: String, _ text: String, zone: ZoneID = .list) throws {
        try cache.save(
            [
                LocalEdit(
                    id: RecordID(name: name, zoneID: zone), type: "Item",
                    changes: [Field(name: "text", value: .string(text))])
            ], in: scope)
    }

    func delete(_ name: String, zone: ZoneID = .list) throws {
        try cache.delete([RecordID(name: name, zoneID: zone)], in: scope)
    }

    func text(_ name: String, zone: ZoneID = .list) throws -> String? {
        guard
            case .string(let text) = try cache.snapshot(
                RecordID(name: name, zoneID: zone), in: scope)?["text"]
        else { return nil }
        return text
    }

    func texts(zone: ZoneID = .list) throws -> [String: String] {
        var texts: [String: String] = [:]
        for record in try cache.snapshots(ofType: "Item", in: zone, of: scope) {
            if case .string(let text) = record["text"] { texts[record.id.name] = text }
        }
        return texts
    }

    /// Syncs until a sync succeeds, like a person who presses the button again.
    func sync() async throws {
        for _ in 0..<5 {
            do { return try await cache.sync() } catch let error as CacheError {
                guard error.code == .notSynced else { throw error }
            }
        }
        try await cache.sync()
    }
}

/// A clock that follows the cloud's, ahead of it or behind. Its uptime advances by the time that is waited for.
final class TestTime: Sendable {
    private struct State {
        var skew: Int64
        var uptime: Double = 0
        var cloud: @Sendable () -> Int64 = { 0 }
    }

    private let state: Mutex<State>

    /// - Parameter skewMilliseconds: How far the clock is ahead.
    init(skewMilliseconds: Int64 = 0) {
        state = Mutex(State(skew: skewMilliseconds))
    }

    func follow(_ cloud: @escaping @Sendable () -> Int64) {
        state.withLock { $0.cloud = cloud }
    }

    func advance(milliseconds: Int64) {
        state.withLock { $0.skew += milliseconds }
    }

    var world: World {
        World(
            nowMilliseconds: {
                let (skew, cloud) = self.state.withLock { ($0.skew, $0.cloud) }
                return skew + cloud()
            },
            uptimeSeconds: { self.state.withLock { $0.uptime } },
            sleep: { seconds in
                try Task.checkCancellation()
                self.state.withLock { $0.uptime += seconds + 0.000_001 }
            })
    }
}

extension CloudCache {
    /// The store of the private database, or of the only one.
    var store: CacheStore { databases[0].store }
}

extension SyncSettings {
    /// No pauses, and no interval fetches.
    static var quick: SyncSettings {
        var settings = SyncSettings()
        settings.minimumDelaySeconds = 0
        settings.firstRetryDelaySeconds = 0
        settings.coalescingSeconds = 0
        settings.fetchIntervalSeconds = nil
        return settings
    }
    /// Batches and pages of three records, so that no page ends within a batch.
    static var smallBatches: SyncSettings {
        var settings = SyncSettings.quick
        settings.itemsPerBatch = 3
        return settings
    }
}
