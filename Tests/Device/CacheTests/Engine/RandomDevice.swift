import Foundation
import StratusCache
import StratusClient
import StratusSync
import StratusSyncEngine
import StratusTesting
import Synchronization

/// A device of a random run: a cache that syncs itself, or one that is the store of an engine.
final class RandomDevice: Sendable {
    private struct Opened: Sendable {
        var cache: CloudCache
        var store: EngineStore?
        var engine: CKSyncEngine?
    }

    let name: String
    let connection: CloudConnection
    let watched: WatchedItems
    private let usesEngine: Bool
    private let path = NSTemporaryDirectory() + "random-\(UUID().uuidString).sqlite"
    private let time: TestTime
    private let opened: Mutex<Opened>

    var cache: CloudCache { opened.withLock { $0.cache } }
    var store: EngineStore? { opened.withLock { $0.store } }
    private var engine: CKSyncEngine? { opened.withLock { $0.engine } }

    init(
        _ cloud: TestCloud, _ name: String, user: String = "alice", usesEngine: Bool,
        _ clock: TestClock
    ) async throws {
        self.name = name
        self.usesEngine = usesEngine
        let time = TestTime()
        time.follow { Int64(clock.now.timeIntervalSince1970 * 1_000) }
        self.time = time
        connection = try await cloud.connect(user: user, device: name, world: time.world)
        let first = try Self.open(path, connection, usesEngine, time)
        opened = Mutex(first)
        watched = WatchedItems()
        try watched.watch(first.cache)
    }

    deinit {
        for suffix in ["", "-wal", "-shm", "-lock", "-assets"] {
            // A file that was never created need not be removed.
            try? FileManager.default.removeItem(atPath: path + suffix)
        }
    }

    private static func open(
        _ path: String, _ connection: CloudConnection, _ usesEngine: Bool, _ time: TestTime
    ) throws -> Opened {
        let container = CloudDevice.container(connection)
        let cache = try CloudCache(
            path: path, container: container, settings: .quick, world: time.world)
        guard usesEngine else { return Opened(cache: cache) }
        let store = try EngineStore(cache)
        let engine = try EngineDevice.engine(container, store, false)
        return Opened(cache: cache, store: store, engine: engine)
    }

    /// Ends the process and starts it again.
    func restart() throws {
        try cache.close()
        let next = try Self.open(path, connection, usesEngine, time)
        opened.withLock { $0 = next }
        try watched.watch(next.cache)
    }

    func save(_ records: [CKRecord], deleting ids: [CKRecord.ID] = []) throws {
        if let store, let engine {
            try store.save(records, deleting: ids, engine)
        } else {
            try cache.save(records, deleting: ids)
        }
    }

    func deleteZone(_ id: CKRecordZone.ID) async throws {
        try await cache.deleteZone(id)
        if let store, let engine { try store.resume(engine) }
    }

    /// A failed fetch is repeated later in the run.
    func fetch() async {
        if let engine { return await calmly { try await engine.fetchChanges() } }
        await calmly { try await self.cache.sync() }
    }

    func send() async {
        if let engine { return await calmly { try await engine.sendChanges() } }
        await calmly { try await self.cache.sync() }
    }

    private func calmly(_ body: () async throws -> Void) async {
        // Errors are ignored: at the end of a run nothing may be left to do.
        do { try await body() } catch {}
    }

    /// Everything that is left to do, as the device reports it.
    func unfinished() async throws -> [String] {
        var left = try await cache.pendingRecordIDs().map { "\(name): pending \($0.recordName)" }
        left += try await cache.attentionItems().map {
            "\(name): \($0.recordID.recordName) set aside, \($0.failure)"
        }
        left += (engine?.state.pendingRecordZoneChanges ?? []).map { "\(name): engine \($0)" }
        if let failure = store?.failure { left.append("\(name): \(failure)") }
        return left
    }

    /// The items of all zones, as texts by name.
    func items() throws -> [String: String] {
        var items: [String: String] = [:]
        for record in try cache.records(matching: CacheQuery("Item")) {
            items[record.recordID.recordName] = record.itemText
        }
        return items
    }
}

extension CKRecord {
    var itemText: String {
        ["a", "b"].map { "\($0)=\(self[$0] as Int64? ?? -1)" }.joined(separator: " ")
    }
}

/// What an observer of all items received, and the mistakes in it.
final class WatchedItems: Sendable {
    struct State: Sendable {
        var items: [String: String] = [:]
        var wrong: [String] = []
        var watch = 0
    }

    private let state = Mutex(State())
    var items: [String: String] { state.withLock { $0.items } }
    var wrong: [String] { state.withLock { $0.wrong } }

    /// Starts again with another cache.
    func watch(_ cache: CloudCache) throws {
        let watch = state.withLock { state in
            state.watch += 1
            state.items = [:]
            return state.watch
        }
        let updates = try cache.observe(CacheQuery("Item"))
        Task {
            var isFirst = true
            do {
                for try await update in updates {
                    note(update, watch, isFirst)
                    isFirst = false
                }
            } catch {
                state.withLock { $0.wrong.append("The observation failed: \(error)") }
            }
        }
    }

    private func note(_ update: QueryUpdate, _ watch: Int, _ isFirst: Bool) {
        var items: [String: String] = [:]
        for record in update.records { items[record.recordID.recordName] = record.itemText }
        let found = items
        state.withLock { state in
            guard state.watch == watch else { return }
            if !isFirst {
                let before = Set(state.items.keys)
                func names(_ kind: RecordChange.Kind) -> Set<String> {
                    Set(update.changes.filter { $0.kind == kind }.map(\.recordID.recordName))
                }
                let expected = before.union(names(.inserted)).subtracting(names(.removed))
                if expected != Set(found.keys) || !names(.inserted).isDisjoint(with: before)
                    || !names(.removed).isSubset(of: before)
                {
                    state.wrong.append("\(update.changes.map { "\($0.kind)" }) led astray")
                }
                let edited = found.filter {
                    before.contains($0.key) && state.items[$0.key] != $0.value
                }
                if !Set(edited.keys).isSubset(of: names(.changed)) {
                    state.wrong.append("edits of \(edited.keys.sorted()) were not reported")
                }
            }
            state.items = found
        }
    }
}
