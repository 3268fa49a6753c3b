import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// Brings the files of assets here and removes them, beside whatever else is done.
actor AssetKeeper {
    /// Downloads at a time.
    private static let downloadsAtATime = 4
    /// Seconds until what a loop let come in vain is tried again, doubled each time.
    private static let firstRetrySeconds: Double = 2
    private static let longestRetrySeconds: Double = 300
    /// Seconds from a change to the removal of what it left behind.
    private static let tidySeconds: Double = 1
    /// Milliseconds for which another process may have the address of a file that it asked for.
    private static let graceMilliseconds: Int64 = 600_000

    nonisolated let file: CacheFile
    nonisolated let settings: AssetSettings
    private let databases: [CachedDatabase]
    private nonisolated let world: World
    private nonisolated let observers: Observers
    private var downloads: [String: RunningDownload] = [:]
    /// Assets that are not to be had, for this process.
    private var missing: Set<String> = []
    private nonisolated let fetching = Mutex(Fetching())
    private nonisolated let tidying = Mutex(Tidying())

    init(
        file: CacheFile, databases: [CachedDatabase], settings: AssetSettings,
        observers: Observers, world: World
    ) {
        self.file = file
        self.databases = databases
        self.settings = settings
        self.observers = observers
        self.world = world
    }

    /// Whether any file comes with a sync. A cache in memory has none.
    nonisolated var fetchesAny: Bool { settings.fetchesAny && !file.assets.isInMemory }

    // MARK: Coming

    /// What a running loop lets come.
    private struct Fetching {
        var task: Task<Void, Never>?
        var isAsked = false
        /// Whether something may be missing.
        var isIncomplete = true
        var isEnded = false
    }

    /// A file to fetch.
    struct Wanted: Sendable {
        var scope: CKDatabase.Scope
        var id: RecordID
        var field: String
        var key: String
        var sizeBytes: Int64?
    }

    /// Downloads a file, or waits until somebody else of this process has.
    ///
    /// - Throws: ``CacheError``, `CancellationError`.
    func fetch(_ wanted: Wanted) async throws {
        guard !file.assets.isInMemory else {
            throw CacheError(
                .assetNotHere,
                "A file in memory without a folder keeps no assets. Give it a folder, or open the cache on the disk."
            )
        }
        while let running = downloads[wanted.key] {
            let failure = await running.failure()
            try Task.checkCancellation()
            guard let failure else { return }
            if !(failure is CancellationError) { throw failure }
            // Who began it gave up: go on from there.
            await Task.yield()
        }
        guard let database = databases.first(where: { $0.scope == wanted.scope }) else {
            throw CacheError.unkeptDatabase
        }
        let download = AssetDownload(
            file: file, store: database.store, remote: database.driver.remote, key: wanted.key,
            sizeBytes: wanted.sizeBytes, id: wanted.id, field: wanted.field)
        let running = RunningDownload(download, world)
        downloads[wanted.key] = running
        defer { downloads[wanted.key] = nil }
        let failure = await withTaskCancellationHandler {
            await running.failure()
        } onCancel: {
            running.task.cancel()
        }
        guard let failure else { return noteChange() }
        noteOrphans()
        throw failure
    }

    /// Downloads what policies want here, as far as there is room.
    ///
    /// - Throws: ``CacheError`` `notSynced` or `storageFull`, `CancellationError`. An asset that is not to be had is no
    ///   error: its record says what it is.
    func fetchWanted() async throws {
        guard fetchesAny else { return }
        let (file, settings) = (file, settings)
        let all = try await DiskThread.run { () -> [Wanted] in
            var room = settings.limitBytes - (try file.assetBytes())
            return try file.wantedAssets(settings).filter { wanted in
                room -= wanted.sizeBytes ?? 0
                return room >= 0
            }
        }
        let wanted = all.filter { !missing.contains($0.key) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, item) in wanted.enumerated() {
                if index >= Self.downloadsAtATime { try await group.next() }
                group.addTask { try await self.fetchIfThere(item) }
            }
            try await group.waitForAll()
        }
    }

    /// A running loop has nothing left to do: what policies want comes now, beside it.
    ///
    /// - Parameter hasChanges: whether the service brought records; without, only what did not come is tried again.
    nonisolated func noteRest(hasChanges: Bool) {
        guard fetchesAny else { return }
        fetching.withLock { fetching in
            guard !fetching.isEnded, hasChanges || fetching.isIncomplete else { return }
            fetching.isAsked = true
            fetching.task =
                fetching.task
                ?? world.startTask("policy assets") { [weak self] in await self?.fetchAsked() }
        }
    }

    private func fetchAsked() async {
        var pauseSeconds = Self.firstRetrySeconds
        while takeQuestion() {
            do {
                try await fetchWanted()
                fetching.withLock { $0.isIncomplete = false }
                pauseSeconds = Self.firstRetrySeconds
            } catch {
                // It is tried again by itself; who asks for a file hears what is wrong.
                fetching.withLock { ($0.isIncomplete, $0.isAsked) = (true, true) }
                // Who is cancelled asks no more.
                try? await world.timeout(pauseSeconds)
                pauseSeconds = min(pauseSeconds * 2, Self.longestRetrySeconds)
            }
        }
    }

    private func takeQuestion() -> Bool {
        fetching.withLock { fetching in
            defer { fetching.isAsked = false }
            guard fetching.isAsked, !Task.isCancelled else {
                fetching.task = nil
                return false
            }
            return true
        }
    }

    /// Ends what a loop let come; the parts stay.
    nonisolated func stopFetching() {
        let task = fetching.withLock { fetching in
            fetching.isIncomplete = true
            return fetching.task
        }
        task?.cancel()
    }

    private func fetchIfThere(_ wanted: Wanted) async throws {
        do {
            try await fetch(wanted)
        } catch let error as CacheError where error.code == .assetNotHere {
            missing.insert(wanted.key)
        }
    }

    // MARK: Going

    /// What becomes of files that nobody uses.
    private struct Tidying {
        var task: Task<Void, Never>?
        /// Whether there may be files that no row names: a process that ended left them, a save that failed, or a download
        /// whose record went before it was whole.
        var hasOrphans = true
        var isEnded = false
    }

    /// A save or a download failed that had made files.
    nonisolated func noteOrphans() { tidying.withLock { $0.hasOrphans = true } }

    /// Something changed: what nobody uses any more goes in a moment.
    nonisolated func noteChange() {
        guard !file.assets.isInMemory else { return }
        tidying.withLock { tidying in
            guard tidying.task == nil, !tidying.isEnded else { return }
            tidying.task = world.startTask("cache assets") { [world, weak self] in
                // Who is cancelled tidies nothing.
                try? await world.timeout(Self.tidySeconds)
                guard !Task.isCancelled else { return }
                await self?.tidyLater()
            }
        }
    }

    private func tidyLater() async {
        tidying.withLock { $0.task = nil }
        do {
            try await tidy()
        } catch {
            // It is done with the next change, or when the file is opened again.
            return
        }
    }

    /// Removes what nobody uses, and what is above the limit.
    func tidy() async throws {
        guard !file.assets.isInMemory else { return }
        let (file, settings) = (file, settings)
        let hasOrphans = tidying.withLock { tidying in
            defer { tidying.hasOrphans = false }
            return tidying.hasOrphans
        }
        var isDone = false
        defer { if !isDone, hasOrphans { noteOrphans() } }
        let unusedSince = world.nowMilliseconds() - Self.graceMilliseconds
        isDone = try await DiskThread.run {
            guard try file.removeUnusedAssets(isThorough: hasOrphans) else { return false }
            return try file.evictAssets(
                downTo: settings.limitBytes, unusedSince: unusedSince
            ) { settings.keeps(field: $1, ofType: $0, sizeBytes: $2) }
        }
        if !isDone { return noteChange() }
        // A part that a record names today may be nobody's after the next change.
        if hasOrphans, try await DiskThread.run({ try file.assets.hasParts() }) { noteOrphans() }
    }

    /// Removes what may go until so many bytes are left.
    func evict(downTo limitBytes: Int64) async throws {
        guard !file.assets.isInMemory else { return }
        let (file, settings) = (file, settings)
        let isDone = try await DiskThread.run {
            try file.evictAssets(downTo: limitBytes, unusedSince: .max) {
                settings.keeps(field: $1, ofType: $0, sizeBytes: $2)
            }
        }
        guard isDone else {
            throw CacheError(.inUse, "A file is being saved at this moment. Try again.")
        }
    }

    /// Ends what is done by itself.
    nonisolated func end() {
        let task = tidying.withLock { tidying in
            tidying.isEnded = true
            return tidying.task
        }
        task?.cancel()
        fetching.withLock { $0.isEnded = true }
        stopFetching()
        file.assets.transfers.finish()
    }
}

extension CacheFile {
    /// The files that policies want here and that are not.
    func wantedAssets(_ settings: AssetSettings) throws -> [AssetKeeper.Wanted] {
        try read { database in
            let rows = try Row.fetchCursor(
                database,
                sql: """
                    SELECT zone.database, zone.name, zone.owner, record.name, record.type, field,
                        key, assetUse.sizeBytes
                    FROM assetUse JOIN record ON record.id = row
                    JOIN zone ON zone.id = record.zone
                    WHERE source = 0 AND record.system IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM asset WHERE asset.key = assetUse.key)
                    ORDER BY assetUse.row, field
                    """)
            var wanted: [AssetKeeper.Wanted] = []
            var keys: Set<String> = []
            while let row = try rows.next() {
                let key: String = row[6]
                guard !key.hasPrefix(AssetReceipt.localPrefix),
                    settings.keeps(field: row[5], ofType: row[4], sizeBytes: row[7]),
                    keys.insert(key).inserted
                else { continue }
                wanted.append(
                    AssetKeeper.Wanted(
                        scope: CKDatabase.Scope(rawValue: row[0]) ?? .private,
                        id: RecordID(
                            name: row[3], zoneID: ZoneID(name: row[1], ownerName: row[2])),
                        field: row[5], key: key, sizeBytes: row[7]))
            }
            return wanted
        }
    }
}
