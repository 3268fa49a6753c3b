import Logging
import StratusRecords
import StratusRuntime
import StratusStorage
import Synchronization

/// Removes old tombstones, so that a database does not grow with records that no longer exist.
///
/// When tombstones are more than ``StratusRecords/Limits/tombstoneShare`` of a zone's rows, those older than
/// ``StratusRecords/Limits/tombstoneSeconds`` are removed. The zone's purge horizon then tells which change tokens can
/// no longer be served: they expire, so that no device keeps deleted records.
final class TombstonePurge: Sendable {
    private struct State {
        /// When a database is to be checked again, in milliseconds since 1970.
        var due = LRUCache<DatabaseAddress, Int64>(capacity: 10_000)
        /// One at a time, for all databases: the others are checked after a later save.
        var running: Task<Void, Never>?
    }

    private let limits: Limits
    private let world: World
    private let logger: Logger
    private let state = Mutex(State())

    init(limits: Limits, world: World, logger: Logger) {
        self.limits = limits
        self.world = world
        self.logger = logger
    }

    /// Starts to purge a database that was saved to, if a check is due.
    func considerPurging(_ store: any RecordStore, nowMilliseconds: Int64) {
        let interval = limits.purgeIntervalSeconds * 1000
        state.withLock { state in
            guard state.running == nil, state.due[store.address] ?? .min <= nowMilliseconds else {
                return
            }
            state.due[store.address] = nowMilliseconds + Int64(interval)
            state.running = world.startTask("tombstone purge") {
                await self.run(store, nowMilliseconds)
            }
        }
    }

    /// Returns when nothing is being purged.
    func waitUntilIdle() async {
        while let task = state.withLock({ $0.running }) { await task.value }
    }

    private func run(_ store: any RecordStore, _ nowMilliseconds: Int64) async {
        do {
            _ = try await purge(store, nowMilliseconds, share: limits.tombstoneShare)
            try await mergeEpochs(of: store, nowMilliseconds)
        } catch {
            // The tombstones stay until the next check, which does no harm.
            logger.error(
                "Old tombstones and epochs could not be removed; the next check tries again.",
                metadata: ["database": "\(store.address)", "type": "\(type(of: error))"])
        }
        state.withLock { $0.running = nil }
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
}
