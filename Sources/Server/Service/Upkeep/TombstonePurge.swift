import Logging
import StratusRecords
import StratusRuntime
import StratusStorage
import Synchronization

/// Removes old tombstones, so that a database does not grow with records that no longer exist.
///
/// When tombstones are more than ``StratusRecords/Limits/tombstoneShare`` of a zone's rows, those older than
/// ``StratusRecords/Limits/tombstoneSeconds`` are removed. When a database has more than
/// ``StratusRecords/Limits/tombstonesPerDatabase``, the oldest are removed whatever their age: no quota counts them, and
/// records can be saved and deleted without end. The zone's purge horizon then tells which change tokens can
/// no longer be served: they expire, so that no device keeps deleted records.
final class TombstonePurge: Sendable {
    private struct State {
        /// When each database is to be checked again.
        var due = LRUCache<DatabaseAddress, Due>(capacity: 10_000)
        /// One at a time, for all databases: the others are checked after a later save.
        var running: Task<Void, Never>?
    }

    private struct Due: Sendable {
        /// Milliseconds since 1970.
        var milliseconds = Int64.min
        /// The records that were deleted since the tombstones were last counted.
        var deletions = 0
    }

    private let limits: Limits
    private let world: World
    private let logger: Logger
    /// The deleted records after which a database's tombstones are counted again.
    private let deletionsPerCount: Int
    private let state = Mutex(State())

    init(limits: Limits, world: World, logger: Logger) {
        self.limits = limits
        self.world = world
        self.logger = logger
        deletionsPerCount = limits.tombstonesPerDatabase / 8
    }

    /// Starts to purge a database that was saved to, if a check is due.
    ///
    /// - Parameter deletions: How many records the transaction deleted, those that were deleted with a named one included.
    func considerPurging(_ store: any RecordStore, nowMilliseconds: Int64, deletions: Int) {
        state.withLock { state in
            var due = state.due[store.address] ?? Due()
            due.deletions += deletions
            let isTimely = due.milliseconds <= nowMilliseconds
            if isTimely || due.deletions > deletionsPerCount, state.running == nil {
                due.deletions = 0
                if isTimely {
                    due.milliseconds =
                        nowMilliseconds + Int64(limits.purgeIntervalSeconds * 1000)
                }
                state.running = start(store, nowMilliseconds, isTimely: isTimely)
            }
            state.due[store.address] = due
        }
    }

    /// Returns when nothing is being purged.
    func waitUntilIdle() async {
        while let task = state.withLock({ $0.running }) { await task.value }
    }

    /// - Parameter isTimely: Whether old tombstones are looked for too, not only too many.
    private func start(
        _ store: any RecordStore, _ nowMilliseconds: Int64, isTimely: Bool
    ) -> Task<Void, Never> {
        world.startTask("tombstone purge") {
            await self.run(store, nowMilliseconds, isTimely: isTimely)
        }
    }

    private func run(
        _ store: any RecordStore, _ nowMilliseconds: Int64, isTimely: Bool
    ) async {
        do {
            if isTimely {
                _ = try await purge(store, nowMilliseconds, share: limits.tombstoneShare)
                try await mergeEpochs(of: store, nowMilliseconds)
            }
            try await purgeSurplus(of: store)
        } catch {
            // The tombstones stay until the next check, which does no harm.
            logger.error(
                "Tombstones and old epochs could not be removed; the next check tries again.",
                metadata: ["database": "\(store.address)", "type": "\(type(of: error))"])
        }
        state.withLock { state in
            state.running = nil
            // What was deleted meanwhile, as by the steps of one large deletion, is not left until the next save.
            guard var due = state.due[store.address], due.deletions > deletionsPerCount else {
                return
            }
            due.deletions = 0
            state.due[store.address] = due
            state.running = start(store, nowMilliseconds, isTimely: false)
        }
    }

    /// Merges the epochs that no valid change token names, if tokens expire at all.
    ///
    /// A token names an epoch that ended before the token was issued only for a device that is catching up. Such a
    /// device has twice the lifetime of tokens for that.
    func mergeEpochs(of store: any RecordStore, _ nowMilliseconds: Int64) async throws {
        let milliseconds = 2 * limits.changeTokenSeconds * 1000
        guard milliseconds < Double(nowMilliseconds) else { return }
        let moment = nowMilliseconds - Int64(milliseconds)
        let epochs = try await store.read {
            try $0.epochs(of: nil, from: 0, limit: 2)
        }
        guard epochs.count > 1, epochs[1].startedMilliseconds < moment else { return }
        _ = try await store.write { try $0.mergeEpochs(endedBefore: moment) }
    }

    /// Purges a database's zones.
    ///
    /// - Parameters:
    ///   - share: the share of a zone's rows above which its tombstones are purged.
    ///   - ageSeconds: the least age of a tombstone to purge; nil for the limit.
    /// - Returns: the number of purged tombstones.
    func purge(
        _ store: any RecordStore, _ nowMilliseconds: Int64, share: Double, ageSeconds: Double? = nil
    ) async throws -> Int {
        let age = ageSeconds ?? limits.tombstoneSeconds
        let moment = nowMilliseconds - Int64(age * 1000)
        let limit = limits.tombstonesPerPurge
        let zones = try await store.read(.zone) { reader in
            try reader.zones().map(\.key).filter { zone in
                guard try reader.oldTombstones(before: moment, in: zone, limit: 1) != nil else {
                    return false
                }
                let counts = try reader.counts(of: zone)
                return Double(counts.tombstones) > share * Double(counts.records)
            }
        }
        var purged = 0
        for zone in zones {
            var isDone = false
            while !isDone {
                let count = try await RecordWriting.purgeTombstones(
                    of: store, before: moment, in: zone, limit: limit)
                purged += count
                isDone = count < limit
            }
        }
        return purged
    }

    /// Purges a database that has too many tombstones until half as many are left: the oldest of the zones that have the
    /// most, so that zones with few deletions keep theirs.
    private func purgeSurplus(of store: any RecordStore) async throws {
        let limits = limits
        let counts = try await store.read(.zone) { try $0.tombstoneCounts() }
        guard counts.values.reduce(0, +) > limits.tombstonesPerDatabase else { return }
        let kept = Self.keptPerZone(
            Array(counts.values), leaving: limits.tombstonesPerDatabase / 2)
        for (zone, count) in counts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            var surplus = count - kept
            while surplus > 0 {
                let limit = min(surplus, limits.tombstonesPerPurge)
                let purged = try await RecordWriting.purgeTombstones(
                    of: store, before: .max, in: zone, limit: limit)
                guard purged == limit else { break }
                surplus -= purged
            }
        }
    }

    /// How many tombstones each zone may keep so that at most `total` are left.
    private static func keptPerZone(_ counts: [Int], leaving total: Int) -> Int {
        var left = total
        var zones = counts.count
        for count in counts.sorted() {
            let share = left / zones
            guard count <= share else { return share }
            left -= count
            zones -= 1
        }
        return .max
    }
}
