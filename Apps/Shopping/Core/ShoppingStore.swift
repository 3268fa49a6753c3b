import StratusCache

#if canImport(Darwin)
    import Foundation
    import StratusClient
    import StratusSync
#else
    import CloudKit
#endif

/// The shopping lists of one account on one device: readable and writable offline, synced with the user's other devices
/// whenever there is a network.
///
/// Each list is a zone with a root record and a record for each journal entry. Entries are only ever
/// created, so they never conflict; the root record's title is that of the latest edit.
///
/// ```swift
/// let store = try await ShoppingStore.open(
///     path: path, container: .default(), device: "phone", author: "alice")
/// await store.start()
/// let weekly = try await store.create(title: "Groceries")
/// try await store.perform([.add(names: ["Milk"], afterItemID: nil)], in: weekly)
/// for await change in await store.changes() { print(change.sentence) }
/// ```
public actor ShoppingStore {
    /// The pace of an app that people watch: it retries soon after an error.
    public static var watchedPace: SyncSettings {
        var settings = SyncSettings()
        settings.firstRetryDelaySeconds = 0.5
        settings.maximumDelaySeconds = 15
        settings.maximumOfflineDelaySeconds = 2
        settings.fetchIntervalSeconds = 15
        return settings
    }

    /// Milliseconds since 1970.
    public typealias Clock = @Sendable () -> Int64

    /// A list that this device knows.
    struct KnownList {
        var journal: Journal
        /// The root record's title; nil while that record has not arrived.
        var rootTitle: String?
        /// How it is shared; nil while it is not.
        var share: CKShare?
        /// What the people of the share are called, by their user record names.
        var people: [String: String] = [:]
        /// The user record name of this device's person, which the share says; nil while the list is not shared.
        var myName: String?
        /// When entries reached the service, in milliseconds since 1970, as far as this was requested.
        var arrivals: [String: Int64] = [:]
        /// Whether its appearance was announced, or the list was created or found here.
        var isNotified = false
        /// The list as rebuilt; nil after a new entry.
        var rebuilt: ShoppingList?

        var isVisible: Bool { rootTitle != nil || rebuilt?.title.isEmpty == false }
        var title: String {
            rebuilt.flatMap { $0.title.isEmpty ? nil : $0.title } ?? rootTitle ?? ""
        }
    }

    package let cache: CloudCache
    package let container: CKContainer
    var activity: ActivityLog { ActivityLog(cache: cache) }
    let device: String
    /// The random identifier that distinguishes this device from all others, stored with the lists.
    public nonisolated let deviceID: String
    let author: String
    let clock: Clock
    let newID: @Sendable () -> String
    let policy: SharingPolicy
    var listsByID: [ListID: KnownList] = [:]
    var observers: [Int: AsyncStream<ShoppingChange>.Continuation] = [:]
    private var observerCount = 0
    /// Whether it was announced that the service cannot be reached.
    private var isServiceLost = false
    /// The last upload after which this device checked whether to compact.
    private var compactedSend: Int64?
    /// Records that changed and could not be read: they are read with the next ones.
    var unreadIDs: Set<CKRecord.ID> = []
    private let recordChanges: [RecordChanges<CKRecord.ID>]
    private var watching: [Task<Void, Never>] = []

    private init(
        cache: CloudCache, container: CKContainer, device: String, deviceID: String,
        author: String, clock: @escaping Clock, newID: @escaping @Sendable () -> String,
        policy: SharingPolicy
    ) {
        self.cache = cache
        self.container = container
        recordChanges = [cache.changes(), cache.changes(in: .shared)]
        self.device = device
        self.deviceID = deviceID
        self.author = author
        self.clock = clock
        self.newID = newID
        self.policy = policy
    }

    /// Opens or creates the file that keeps an account's lists on this device.
    ///
    /// - Parameters:
    ///   - device: the device's name as others read it.
    ///   - author: the person's name as others read it.
    /// - Throws: `CacheError` when the file cannot be opened, or when a newer app wrote it.
    public static func open(
        path: String, container: CKContainer, device: String, author: String,
        settings: SyncSettings = ShoppingStore.watchedPace, policy: SharingPolicy = SharingPolicy(),
        clock: @escaping Clock = { Int64((Date().timeIntervalSince1970 * 1_000).rounded()) },
        newID: @escaping @Sendable () -> String = { UUID().uuidString }
    ) async throws -> ShoppingStore {
        let cache = try CloudCache(
            path: path, container: container, settings: settings, versions: versions,
            world: CloudConnection.World(nowMilliseconds: clock))
        let activity = ActivityLog(cache: cache)
        try activity.prepare()
        let store = ShoppingStore(
            cache: cache, container: container, device: device,
            deviceID: try activity.deviceID(orNew: newID), author: author, clock: clock,
            newID: newID, policy: policy)
        try await store.begin()
        return store
    }

    /// Starts observing before it reads, so that no change is missed.
    private func begin() throws {
        let (changes, events) = (recordChanges, cache.events())
        for scope in [CKDatabase.Scope.private, .shared] {
            for listID in try cache.zoneIDs(in: scope).compactMap({ ListID($0) }) {
                try readWholeList(listID)
            }
        }
        watching = changes.map { changes in
            Task { for await ids in changes { self.absorb(ids) } }
        }
        watching += [
            Task { for await event in events { await self.note(event) } },
            Task { await self.watchUploads() },
        ]
    }

    /// Ends all observation and closes the file. Unsent changes are sent after the next start.
    public func close() async throws {
        await cache.stop()
        try cache.close()
        for task in watching { await task.value }
        for observer in observers.values { observer.finish() }
        observers = [:]
    }

    // MARK: Syncing

    /// Syncs with the service until ``close()``; calling it again ends a halt.
    public func start() async {
        await refetchWhenLongAway()
        await cache.start()
    }

    private func refetchWhenLongAway() async {
        do {
            try await refetchIfLongAway()
        } catch {
            // Syncing uses the same file, and reports its error.
            notify(ShoppingChange(.trouble("The lists' file cannot be read: \(error)")))
        }
    }

    /// Sends and fetches until there is nothing left to do.
    ///
    /// - Throws: `CacheError`, immediately when the service cannot be reached; nothing is lost.
    public func sync() async throws {
        try await refetchIfLongAway()
        try await cache.sync()
        if try activity.note(Self.unsentEnds) != nil {
            try activity.setNote(Self.unsentEnds, nil)
        }
        // The watching task takes and absorbs in one step of this actor, so nothing is in between.
        absorbUnseen()
        guard try await cache.status().lastSendMilliseconds != compactedSend else { return }
        compactedSend = try await cache.status().lastSendMilliseconds
        guard await compactWhereDue() > 0 else { return }
        try await cache.sync()
        absorbUnseen()
    }

    /// Takes changes that arrived and were not taken yet, which otherwise happens by itself soon.
    package func absorbUnseen() {
        for changes in recordChanges { absorb(changes.takeUnseen()) }
    }

    /// Announces once that the service became unreachable, and once that it is reachable again.
    private func noteReach(_ status: CacheStatus) {
        guard status.isEnabled else { return }
        let isLost = !status.isNetworkReachable || status.retryCount > 1
        guard isLost != isServiceLost else { return }
        isServiceLost = isLost
        notify(ShoppingChange(isLost ? .serviceLost : .serviceBack))
    }

    /// Compacts after uploads of a running loop, and announces when the service is unreachable.
    private func watchUploads() async {
        do {
            for try await status in cache.statuses() where status.isRunning {
                noteReach(status)
                guard status.pendingCount == 0, status.operation == nil,
                    status.lastSendMilliseconds != compactedSend
                else { continue }
                compactedSend = status.lastSendMilliseconds
                await compactWhereDue()
            }
        } catch {
            // The file cannot be read: reading and writing lists throw the same error.
            return
        }
    }

    /// Fetches everything again with the next sync, as if this device were new; what is pending stays.
    public func refetchEverything() async throws { try await cache.refetchEverything() }

    /// Goes offline, as in flight mode, or back online. Changes stay pending meanwhile.
    public func setOnline(_ isOnline: Bool) async {
        if isOnline { await refetchWhenLongAway() }
        await cache.setEnabled(isOnline)
        if isOnline { await cache.fetchSoon() }
    }

    /// The name of the note that a list was left or deleted here since the last ``sync()``.
    static let unsentEnds = "unsent ends"

    /// Whether the service may not know all changes yet, lists that were left or deleted included.
    public var hasUnsent: Bool {
        get async throws {
            if try activity.note(Self.unsentEnds) != nil { return true }
            return try await status().pendingCount > 0
        }
    }

    /// Whether everything is sent, what is pending, and why.
    public func status() async throws -> CacheStatus { try await cache.status() }

    // MARK: Reading

    /// What comes from other devices and from the service, from now on.
    ///
    /// At most ``ShoppingLimits/bufferedChanges`` are kept for a reader that does not take them.
    public func changes() -> AsyncStream<ShoppingChange> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: ShoppingChange.self,
            bufferingPolicy: .bufferingNewest(ShoppingLimits.bufferedChanges))
        observerCount += 1
        let key = observerCount
        observers[key] = continuation
        continuation.onTermination = { _ in Task { await self.forgetObserver(key) } }
        return stream
    }

    private func forgetObserver(_ key: Int) { observers[key] = nil }

    /// The lists on this device, by title.
    public var lists: [ShoppingList] {
        listsByID.filter { $0.value.isVisible }.keys.compactMap { list($0) }.sorted {
            ($0.title.lowercased(), $0.id.description) < ($1.title.lowercased(), $1.id.description)
        }
    }

    /// A list in its current state; nil when this device does not know it.
    public func list(_ listID: ListID) -> ShoppingList? {
        guard let known = listsByID[listID] else { return nil }
        let whole = known.rebuilt ?? known.journal.list()
        listsByID[listID]?.rebuilt = whole
        let list = whole.squeezed(before: clock() - ShoppingLimits.shownBoughtMilliseconds)
        return list.known(
            as: listID, title: list.title.isEmpty ? known.rootTitle ?? "" : list.title)
    }

    /// Whether a newer version of the app changed some list: its changes are kept, but not all are shown.
    public var needsNewerApp: Bool { listsByID.values.contains { $0.journal.needsNewerApp } }

    /// What happened to a list since this device knows it, oldest first; compaction removes nothing from it.
    ///
    /// - Throws: SQLite's error.
    public func activity(of listID: ListID) throws -> [ActivityEvent] {
        try activity.events(of: listID.description)
    }

    /// The journal of a list; nil when this device does not know it.
    public func journal(_ listID: ListID) -> Journal? { listsByID[listID]?.journal }
}
