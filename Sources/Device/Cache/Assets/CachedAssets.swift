import Foundation
import GRDB
import StratusClient
import StratusRecords
import StratusRuntime
import StratusSync
import Synchronization

/// Downloads the files of assets and removes unused ones, in the background.
actor CachedAssets {
    /// Concurrent downloads.
    private static let downloadsAtATime = 4
    /// The pauses before failed downloads of the loop are tried again.
    private static let backoff = Backoff(firstSeconds: 2, longestSeconds: 300)
    /// Seconds from a change to the removal of files that it made unused.
    private static let tidySeconds: Double = 1
    /// Seconds after which a removal looks for files without a row again: another process may have been killed since.
    private static let thoroughSeconds: Double = 3_600
    /// The pauses before a failed removal is tried again.
    private static let tidyBackoff = Backoff(firstSeconds: 2, longestSeconds: 60)
    /// Milliseconds after its last use during which another process may still use the path of a
    /// file.
    private static let graceMilliseconds: Int64 = 600_000
    /// The shortest pause before files are looked at again that were spared because of their last use.
    private static let shortestGraceSeconds: Double = 60

    nonisolated let file: CacheFile
    nonisolated let settings: AssetSettings
    private let databases: [CachedDatabase]
    private nonisolated let observers: Observers
    private var downloads: [String: RunningDownload] = [:]
    /// Assets of records that the service no longer has, remembered by this process. Another record
    /// may still have the same file.
    private var missing: Set<Wanted> = []
    private nonisolated let fetching = Mutex(Fetching())
    private nonisolated let cleanup = Mutex(Cleanup())

    private nonisolated var world: World { file.assets.world }

    init(
        file: CacheFile, databases: [CachedDatabase], settings: AssetSettings,
        observers: Observers
    ) {
        self.file = file
        self.databases = databases
        self.settings = settings
        self.observers = observers
    }

    /// Whether a sync downloads any files. A cache in memory without a folder downloads none.
    nonisolated var fetchesAny: Bool { settings.fetchesAny && !file.assets.isInMemory }

    // MARK: Downloading

    /// The downloads of a running loop.
    private struct Fetching {
        var task: Task<Void, Never>?
        var isAsked = false
        /// Whether wanted files may be missing.
        var isIncomplete = true
        var isEnded = false
    }

    /// A file to fetch.
    struct Wanted: Hashable, Sendable {
        var scope: CKDatabase.Scope
        var id: RecordID
        var field: String
        var key: String
        var sizeBytes: Int64?
    }

    /// Downloads a file, or waits for another download of it in this process.
    ///
    /// - Throws: ``CacheError``, `CancellationError`.
    func fetch(_ wanted: Wanted) async throws {
        guard !file.assets.isInMemory else {
            throw CacheError(
                .assetNotHere,
                "The asset \(wanted.field) of the record \(wanted.id.name) is not here, because a cache in memory without a folder keeps none. Open it with MemoryCacheFile(assetFolder:), or on the disk."
            )
        }
        while let running = downloads[wanted.key] {
            let failure = await running.failure()
            try Task.checkCancellation()
            guard let failure else { return }
            if !(failure is CancellationError) { throw failure }
            // The task that began it was cancelled: resume the download.
            await Task.yield()
        }
        guard let database = databases.first(where: { $0.scope == wanted.scope }) else {
            throw CacheError.unkept(wanted.scope)
        }
        let download = CachedAssetDownload(
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

    /// Downloads the files that policies want, within the limit.
    ///
    /// - Throws: ``CacheError`` `notSynced` or `storageFull`, `CancellationError`. An asset that
    ///   the service no longer has is not an error.
    func fetchWanted() async throws {
        guard fetchesAny else { return }
        let (file, settings) = (file, settings)
        var known: Set<Wanted>
        repeat {
            let missing = self.missing
            known = missing
            let wanted = try await DiskThread.run { () -> [Wanted] in
                var room = settings.limitBytes - (try file.assetBytes())
                return try file.wantedAssets(settings, except: missing).filter { wanted in
                    room -= wanted.sizeBytes ?? 0
                    return room >= 0
                }
            }
            try await forEachConcurrently(wanted, limit: Self.downloadsAtATime) {
                try await self.fetchIfThere($0)
            }
            // Files of missing records are then requested from other records that have them.
        } while missing.count > known.count
    }

    /// Starts the downloads that policies want, once a running loop has nothing left to do.
    ///
    /// - Parameter hasChanges: whether the service sent records; if not, only failed downloads are
    ///   tried again.
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
        var backoff = Self.backoff
        var isNoted = false
        while takeQuestion() {
            do {
                try await fetchWanted()
                fetching.withLock { $0.isIncomplete = false }
                backoff.reset()
                isNoted = false
            } catch {
                // Tried again after a pause, and logged once until it succeeds: no caller gets the error.
                if !isNoted, !Task.isCancelled { note("assetsNotFetched", error) }
                isNoted = true
                fetching.withLock { ($0.isIncomplete, $0.isAsked) = (true, true) }
                // A cancelled wait ends the loop in `takeQuestion`.
                try? await world.timeout(backoff.nextSeconds())
            }
        }
    }

    private func takeQuestion() -> Bool {
        fetching.withLock { fetching in
            // `stopFetching` has removed a cancelled task, and another one may have its place.
            guard !Task.isCancelled else { return false }
            defer { fetching.isAsked = false }
            if !fetching.isAsked { fetching.task = nil }
            return fetching.isAsked
        }
    }

    /// Cancels the loop's downloads; the part files stay.
    nonisolated func stopFetching() {
        let task = fetching.withLock { fetching in
            fetching.isIncomplete = true
            return fetching.task.take()
        }
        task?.cancel()
    }

    private func note(_ kind: String, _ error: any Error) {
        CacheLog(file: file, scope: nil, world: world).note(.notice, kind, ["error": "\(error)"])
    }

    private func fetchIfThere(_ wanted: Wanted) async throws {
        do {
            try await fetch(wanted)
        } catch let error as CacheError where error.code == .assetNotHere {
            // The service does not have the record's file either; it is not asked for again.
            missing.insert(wanted)
        }
    }

    // MARK: Removing

    /// The removal of unused files.
    private struct Cleanup {
        var task: Task<Void, Never>?
        /// Whether there may be files without a row, left by a process that ended, a save that
        /// failed, or a download whose record was removed before it was complete.
        var hasOrphans = true
        /// When a removal last looked for such files.
        var thoroughUptimeSeconds = -Double.infinity
        /// The pauses before a failed removal is tried again; nil if the last one succeeded.
        var failures: Backoff?
        /// Waits until files that were spared because of their last use may be evicted.
        var grace: Task<Void, Never>?
        var isEnded = false
    }

    /// Notes that there may be files without a row, and schedules their removal.
    nonisolated func noteOrphans() {
        markOrphans()
        noteChange()
    }

    private nonisolated func markOrphans() { cleanup.withLock { $0.hasOrphans = true } }

    /// Schedules the removal of unused files after a change.
    nonisolated func noteChange() { tidy(afterSeconds: Self.tidySeconds) }

    private nonisolated func tidy(afterSeconds seconds: Double) {
        guard !file.assets.isInMemory else { return }
        cleanup.withLock { cleanup in
            guard cleanup.task == nil, !cleanup.isEnded else { return }
            cleanup.task = world.startTask("cache assets") { [world, weak self] in
                // After a cancelled wait nothing is removed; the next line checks this.
                try? await world.timeout(seconds)
                guard !Task.isCancelled else { return }
                await self?.tidyLater()
            }
        }
    }

    func tidyLater() async {
        cleanup.withLock { $0.task = nil }
        do {
            try await tidy()
            cleanup.withLock { $0.failures = nil }
        } catch {
            guard !file.isClosed, !cleanup.withLock({ $0.isEnded }) else { return }
            // Tried again after a pause, and logged once until it succeeds: no caller gets the error. Until then unused
            // files take up disk space.
            let isFirst = cleanup.withLock { $0.failures == nil }
            if isFirst { note("assetsNotTidied", error) }
            let seconds = cleanup.withLock { cleanup in
                var pauses = cleanup.failures ?? Self.tidyBackoff
                defer { cleanup.failures = pauses }
                return pauses.nextSeconds()
            }
            tidy(afterSeconds: seconds)
        }
    }

    /// Removes unused files, and files above the limit.
    func tidy() async throws {
        guard !file.assets.isInMemory else { return }
        let (file, settings) = (file, settings)
        let uptimeSeconds = world.uptimeSeconds()
        let isThorough = cleanup.withLock { cleanup in
            let dueUptimeSeconds = cleanup.thoroughUptimeSeconds + Self.thoroughSeconds
            guard cleanup.hasOrphans || uptimeSeconds >= dueUptimeSeconds else { return false }
            cleanup.hasOrphans = false
            cleanup.thoroughUptimeSeconds = uptimeSeconds
            return true
        }
        var eviction = CacheFile.Eviction.isBusy
        defer { if eviction == .isBusy, isThorough { markOrphans() } }
        let unusedSince = world.nowMilliseconds() - Self.graceMilliseconds
        eviction = try await DiskThread.run {
            guard try file.removeUnusedAssets(isThorough: isThorough) else { return .isBusy }
            return try file.evictAssets(
                downTo: settings.limitBytes, unusedSince: unusedSince
            ) { settings.keeps(field: $1, ofType: $0, sizeBytes: $2) }
        }
        switch eviction {
        case .isBusy: return noteChange()
        case .done: break
        case .spared(let usedMilliseconds): tidyAfterGrace(usedMilliseconds - unusedSince)
        }
        // A part that a record needs now may be unused after the next change.
        if isThorough, try await DiskThread.run({ try file.assets.hasParts() }) { markOrphans() }
    }

    /// Schedules another look at files that were spared because of their last use. A change is not kept waiting by it.
    private nonisolated func tidyAfterGrace(_ milliseconds: Int64) {
        // A clock that was set back does not make the pause longer.
        let seconds = max(
            Self.shortestGraceSeconds,
            Double(min(milliseconds, Self.graceMilliseconds)) / 1_000)
        cleanup.withLock { cleanup in
            guard cleanup.grace == nil, !cleanup.isEnded else { return }
            cleanup.grace = world.startTask("cache assets' grace") { [world, weak self] in
                // After a cancelled wait nothing is removed; the next line checks this.
                try? await world.timeout(seconds)
                guard !Task.isCancelled else { return }
                self?.endGrace()
            }
        }
    }

    private nonisolated func endGrace() {
        cleanup.withLock { $0.grace = nil }
        noteChange()
    }

    /// Evicts files until this many bytes are left.
    func evict(downTo limitBytes: Int64) async throws {
        guard !file.assets.isInMemory else { return }
        let (file, settings) = (file, settings)
        let eviction = try await DiskThread.run {
            try file.evictAssets(downTo: limitBytes, unusedSince: .max) {
                settings.keeps(field: $1, ofType: $0, sizeBytes: $2)
            }
        }
        guard eviction != .isBusy else {
            throw CacheError(
                .inUse, "No assets were removed, because a file is being saved now. Try again.")
        }
    }

    /// Ends the background work.
    nonisolated func end() {
        let tasks = cleanup.withLock { cleanup in
            cleanup.isEnded = true
            return [cleanup.task, cleanup.grace]
        }
        for task in tasks { task?.cancel() }
        fetching.withLock { $0.isEnded = true }
        stopFetching()
        file.assets.transfers.finish()
    }
}

extension CacheFile {
    /// The files that policies want and that are not here, each with one of the records that have it.
    ///
    /// - Parameter missing: what the service does not have.
    func wantedAssets(
        _ settings: AssetSettings, except missing: Set<CachedAssets.Wanted> = []
    ) throws -> [CachedAssets.Wanted] {
        try read { database in
            let rows = try Row.fetchCursor(
                database,
                sql: """
                    SELECT zone.database, record.name, zone.name, zone.owner, record.type, field,
                        key, assetUse.sizeBytes
                    FROM assetUse JOIN record ON record.id = row
                    JOIN zone ON zone.id = record.zone
                    WHERE source = 0 AND record.system IS NOT NULL
                    AND NOT EXISTS (SELECT 1 FROM asset WHERE asset.key = assetUse.key)
                    ORDER BY assetUse.row, field
                    """)
            var wanted: [CachedAssets.Wanted] = []
            var keys: Set<String> = []
            while let row = try rows.next() {
                let key: String = try row.decode(atIndex: 6)
                let field: String = try row.decode(atIndex: 5)
                // A size in the service's answer that no file can have counts as none.
                let sizeBytes = try row.decode(Int64?.self, atIndex: 7).flatMap {
                    (0..<CacheFile.KeptFile.endOfSizes).contains($0) ? $0 : nil
                }
                guard !key.hasPrefix(AssetReceipt.localPrefix),
                    settings.keeps(
                        field: field, ofType: try row.decode(atIndex: 4), sizeBytes: sizeBytes)
                else { continue }
                let found = CachedAssets.Wanted(
                    scope: CKDatabase.Scope(rawValue: try row.decode(atIndex: 0)) ?? .private,
                    id: try RecordID(row, at: 1), field: field, key: key, sizeBytes: sizeBytes)
                if !missing.contains(found), keys.insert(key).inserted { wanted.append(found) }
            }
            return wanted
        }
    }
}
