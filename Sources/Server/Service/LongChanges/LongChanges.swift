import Logging
import StratusRecords
import StratusRuntime
import StratusStorage
import Synchronization

/// Carries out changes that are too large for their request, step by step: each step is a transaction of its own,
/// between which others read and write (decision 18).
///
/// The database stores what is left to do (`LongChangeRow`), written by the request that made the change, so it
/// continues after a restart: at the database's first use, or at the service's start. All databases take turns, one
/// step each, so that one person's large change does not delay another's small one.
final class LongChanges: Sendable {
    private struct State {
        /// The databases that have something left to do, in the order of their turns.
        var waiting: [any RecordStore] = []
        var waitingAddresses: Set<DatabaseAddress> = []
        /// The databases that were checked since the start.
        var looked = LRUCache<DatabaseAddress, Bool>(capacity: 10_000)
        var running: Task<Void, Never>?
        /// The claims of running requests; all others are given up.
        var claims: Set<String> = []

        mutating func enqueue(_ store: any RecordStore) {
            if waitingAddresses.insert(store.address).inserted { waiting.append(store) }
        }

        mutating func next() -> (any RecordStore)? {
            guard !waiting.isEmpty else {
                running = nil
                return nil
            }
            let store = waiting.removeFirst()
            waitingAddresses.remove(store.address)
            return store
        }
    }

    /// Writes the records of each step, and those of the requests that begin a long change.
    let records: RecordWriting
    private let tombstones: TombstonePurge
    private let limits: Limits
    private let world: World
    private let logger: Logger
    private let state = Mutex(State())

    init(
        records: RecordWriting, tombstones: TombstonePurge, limits: Limits, world: World,
        logger: Logger
    ) {
        self.records = records
        self.tombstones = tombstones
        self.limits = limits
        self.world = world
        self.logger = logger
    }

    // MARK: Turns

    /// Continues the changes that are left in a database at its first use.
    func takeUp(_ store: any RecordStore) {
        let isNew = state.withLock { state in
            if state.looked[store.address] != nil { return false }
            state.looked[store.address] = true
            return true
        }
        if isNew { start(store) }
    }

    /// Does the first step of a change that a request stored, and schedules the others.
    func begin(_ store: any RecordStore) async {
        if await takeStep(store) { start(store) }
    }

    /// Schedules the steps of a database, unless they are scheduled already.
    private func start(_ store: any RecordStore) {
        state.withLock { state in
            state.enqueue(store)
            guard state.running == nil else { return }
            state.running = world.startTask("long changes") { await self.run() }
        }
    }

    /// Protects a claim while its request searches for what is deleted with its deletions.
    func hold(_ claim: String) {
        state.withLock { _ = $0.claims.insert(claim) }
    }

    /// Gives up what a claim still holds when its request has ended.
    func release(_ claim: String, in store: any RecordStore) {
        state.withLock { _ = $0.claims.remove(claim) }
        start(store)
    }

    /// Returns when nothing is left to do, except for changes whose step failed.
    func waitUntilIdle() async {
        while let task = state.withLock({ $0.running }) { await task.value }
    }

    private func run() async {
        while let store = state.withLock({ $0.next() }) {
            if await takeStep(store) { state.withLock { $0.enqueue(store) } }
            // Lets requests run between two steps.
            await Task.yield()
        }
    }

    /// - Returns: whether there is more to do now.
    private func takeStep(_ store: any RecordStore) async -> Bool {
        do {
            return try await step(store)
        } catch {
            // The change stays in the database, and continues at the database's next use.
            state.withLock { $0.looked[store.address] = nil }
            // A service that is stopping, and a damaged file that its requests report, need no further log line.
            let code = (error as? StorageError)?.code
            guard code != .closed, code != .corrupt else { return false }
            logger.warning(
                "A step of a long change failed; it is tried again at the database's next use.",
                metadata: [
                    "database": "\(store.address)", "error": "\(type(of: error))",
                ])
            return false
        }
    }

    // MARK: A step

    /// Does one step in a database.
    ///
    /// - Returns: whether there was anything to do; then there may be more.
    func step(_ store: any RecordStore) async throws -> Bool {
        // Read first: most databases have nothing to do, and checking must not take the writer's turn.
        let claims = state.withLock { $0.claims }
        let next = try await store.read { reader in
            try LongChangeRow.Kind.allCases.lazy
                .compactMap { kind in
                    switch kind {
                    case .deletion: try reader.decidedDeletions(limit: 1).first
                    case .claim:
                        try reader.longChanges(kind, limit: claims.count + 1)
                            .first { !claims.contains($0.name) }
                    case .placement, .zoneRemoval, .departure:
                        try reader.longChanges(kind, limit: 1).first
                    }
                }.first
        }
        guard let next else { return false }
        let limits = limits
        switch next.kind {
        case .placement:
            try await records.write(to: store, by: store.address.owner ?? "", on: "") { records in
                var placement = SharePlacement(limits)
                try placement.step(in: &records)
            }
        case .deletion:
            let deletion = LongDeletion(text: next.detail)
            let deletions = try await records.write(
                to: store, by: deletion.user, on: deletion.device
            ) { records in
                try deletion.step(in: &records, limits)
                return records.tombstoneCount
            }
            tombstones.considerPurging(
                store, nowMilliseconds: world.nowMilliseconds(), deletions: deletions)
        case .zoneRemoval:
            try await records.write(to: store, by: store.address.owner ?? "", on: "") { records in
                try ZoneRows(of: next).step(in: &records, limits)
            }
        case .claim:
            // The request was never answered with their deletion: the records stay.
            try await store.write { writer in
                let rows = try writer.claimedDeletions(next, limit: limits.recordsPerStep)
                for row in rows { try writer.delete(row) }
                if rows.isEmpty { try writer.delete(next) }
            }
        case .departure:
            // The last of the kinds: nothing is left to be placed, so every record's share is already the right one.
            try await store.write { writer in
                guard try writer.longChanges(.placement, limit: 1).isEmpty else { return }
                let rows = try writer.longChanges(.departure, limit: limits.recordsPerStep)
                for row in rows { try writer.delete(row) }
            }
        }
        return true
    }
}
