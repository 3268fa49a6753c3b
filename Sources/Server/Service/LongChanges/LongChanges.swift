import Logging
import StratusRecords
import StratusRuntime
import StratusStorage
import Synchronization

/// Carries out what requests were too small for, step by step: each step is a transaction of its own, between
/// which others read and write (decision 18).
///
/// What is to be done is in the database (`LongChangeRow`), written by the request that made the change, so
/// it goes on after a restart: at the database's first use, or at the service's start. All databases take
/// turns, one step each, so that one person's large change is not in the way of another's small one.
final class LongChanges: Sendable {
    private struct State {
        /// The databases that have something to do, in the order of their turns.
        var waiting: [any RecordStore] = []
        var waitingAddresses: Set<DatabaseAddress> = []
        /// The databases that were looked at since the start.
        var looked = LRUCache<DatabaseAddress, Bool>(capacity: 10_000)
        var running: Task<Void, Never>?
        /// The claims of requests that are under way; all others are given up.
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

    private let records: RecordWriting
    private let settings: ServiceSettings
    private let state = Mutex(State())

    init(records: RecordWriting, settings: ServiceSettings) {
        self.records = records
        self.settings = settings
    }

    // MARK: Turns

    /// Takes up what is left in a database at its first use.
    func takeUp(_ store: any RecordStore) {
        let isNew = state.withLock { state in
            if state.looked[store.address] != nil { return false }
            state.looked[store.address] = true
            return true
        }
        if isNew { start(store) }
    }

    /// Does the first step of what a request has written down, and has the others follow.
    func begin(_ store: any RecordStore) async {
        if await takeStep(store) { start(store) }
    }

    /// Has the steps of a database follow, unless they do already.
    private func start(_ store: any RecordStore) {
        state.withLock { state in
            state.enqueue(store)
            guard state.running == nil else { return }
            state.running = settings.world.startTask("long changes") { await self.run() }
        }
    }

    /// A request looks for what goes with its deletions: nobody gives up what it holds meanwhile.
    func hold(_ claim: String) {
        state.withLock { _ = $0.claims.insert(claim) }
    }

    /// The request is over: what its claim still holds is given up.
    func release(_ claim: String, in store: any RecordStore) {
        state.withLock { _ = $0.claims.remove(claim) }
        start(store)
    }

    /// Returns when nothing is left to do, but for what failed.
    func waitUntilIdle() async {
        while let task = state.withLock({ $0.running }) { await task.value }
    }

    private func run() async {
        while let store = state.withLock({ $0.next() }) {
            if await takeStep(store) { state.withLock { $0.enqueue(store) } }
            // Requests come between two steps.
            await Task.yield()
        }
    }

    /// - Returns: whether there is more to do now.
    private func takeStep(_ store: any RecordStore) async -> Bool {
        do {
            return try await step(store)
        } catch {
            // It stays in the database, and is taken up at its next use.
            state.withLock { $0.looked[store.address] = nil }
            // A service that stops, and a file that its requests say is damaged, need no further line.
            let code = (error as? StorageError)?.code
            guard code != .closed, code != .corrupt else { return false }
            settings.logger.warning(
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
        // Read first: most databases have nothing to do, and a look must not take the writer's turn.
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
        let limits = settings.limits
        switch next.kind {
        case .placement:
            try await records.write(to: store, by: store.address.owner ?? "", on: "") { records in
                var placement = SharePlacement(limits)
                try placement.step(in: &records)
            }
        case .deletion:
            let deletion = LongDeletion(text: next.detail)
            try await records.write(to: store, by: deletion.user, on: deletion.device) { records in
                try deletion.step(in: &records, limits)
            }
        case .zoneRemoval:
            try await records.write(to: store, by: store.address.owner ?? "", on: "") { records in
                try ZoneRows(of: next).step(in: &records, limits)
            }
        case .claim:
            // Nobody was told that these records go: they stay.
            try await store.write { writer in
                let rows = try writer.claimedDeletions(next, limit: limits.recordsPerStep)
                for row in rows { try writer.delete(row) }
                if rows.isEmpty { try writer.delete(next) }
            }
        case .departure:
            // The last of all kinds: nothing is to be placed any more, so every record is where it says.
            try await store.write { writer in
                guard try writer.longChanges(.placement, limit: 1).isEmpty else { return }
                let rows = try writer.longChanges(.departure, limit: limits.recordsPerStep)
                for row in rows { try writer.delete(row) }
            }
        }
        return true
    }
}
