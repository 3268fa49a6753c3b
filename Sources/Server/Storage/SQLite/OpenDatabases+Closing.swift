import Foundation
import StratusRecords

/// Closes databases: to make room for others, because they are damaged, and at the end.
extension OpenDatabases {
    /// How many databases beyond the limit may be open before an opening must wait until another one is closed: a
    /// fraction of the limit, but at least a few with a realistic limit.
    private static func surplus(_ limit: Int) -> Int {
        limit < StorageLimits.leastOpenDatabases ? 0 : max(limit / 16, 8)
    }

    /// Closes surplus databases, several in a row so that most openings need not close any. This runs beside the
    /// request that opened one, unless there are far too many.
    func makeRoom() async {
        guard let limit else { return }
        let surplus = Self.surplus(limit)
        let (count, mustStart) = state.withLock { state in
            let count = state.entries.count
            let mustStart = count > limit + surplus / 2 && !state.isClosingSurplus
            if mustStart { state.isClosingSurplus = true }
            return (count, mustStart)
        }
        if count > limit + surplus { return await closeSurplus(limit) }
        guard mustStart else { return }
        _ = world.startTask("surplus databases") { [weak self] in await self?.closeSurplus(limit) }
    }

    private func closeSurplus(_ limit: Int) async {
        func next(_ state: inout State) -> DatabaseAddress? {
            if state.entries.count > limit, let oldest = state.unused.oldestEntry {
                return oldest.key
            }
            state.isClosingSurplus = false
            return nil
        }
        while let address = state.withLock({ next(&$0) }) {
            do {
                // A command uses each database once, so keeping its log would not help.
                try await shut(address, keepsLog: placement.isExclusive)
            } catch {
                // All its writes were answered after their commits, and opening it again finds them. If
                // the disk fails, that opening reports it.
            }
        }
    }

    /// Closes databases until none is open, and removes the logs that were kept.
    ///
    /// - Returns: The first failure; the others are closed anyway.
    func closeUnused() async -> (any Error)? {
        var failure: (any Error)?
        while let (address, isOpen) = await nextToClose() {
            do {
                if isOpen { try await shut(address) } else { try await removeLog(of: address) }
            } catch {
                failure = failure ?? error
            }
        }
        return failure
    }

    private func nextToClose() async -> (address: DatabaseAddress, isOpen: Bool)? {
        while true {
            let (open, kept, isEmpty) = state.withLock {
                ($0.unused.oldestEntry?.key, $0.keptLogs.first, $0.entries.isEmpty)
            }
            if let open { return (open, true) }
            if let kept { return (kept, false) }
            if isEmpty { return nil }
            await waitForChange {
                $0.entries.isEmpty || $0.unused.oldestEntry?.key != nil || $0.keptLogs.first != nil
            }
        }
    }

    /// Closes a database that is not in use, unless another task has closed it.
    ///
    /// - Parameter keepsLog: Whether the empty log is left for the next opening, until the database has been idle.
    func shut(_ address: DatabaseAddress, keepsLog: Bool = false) async throws {
        let closing: (database: any OpenDatabase, entry: Entry, keepsLog: Bool)? = state.withLock {
            state in
            guard let entry = state.entries[address], entry.uses == 0,
                case .open(let database) = entry.phase
            else { return nil }
            state.entries[address]?.phase = .closing
            state.unused[address] = nil
            let mayKeep = !entry.isClosing && !state.keptLogs.isFull && !state.isClosed
            return (database, entry, keepsLog && mayKeep)
        }
        guard let (database, entry, keepsLog) = closing else { return }
        var isKept = false
        defer {
            let files = placement.files(of: address)
            updateEntries { state in
                state.entries[address] = nil
                state.damaged.noteClosed(address, files: files)
                if isKept { state.keptLogs.keep(address, usedAtSeconds: entry.usedAtSeconds) }
            }
        }
        isKept = try await placement.work.run {
            if keepsLog { return try database.closeKeepingLog() }
            try database.close()
            return false
        }
    }

    /// Removes a log that was kept, unless the database was opened since. SQLite does it, which respects other
    /// processes with the file open.
    func removeLog(of address: DatabaseAddress) async throws {
        let isFree = state.withLock { state in
            guard state.keptLogs.remove(address), state.entries[address] == nil else {
                return false
            }
            state.entries[address] = Entry(phase: .closing)
            return true
        }
        guard isFree else { return }
        defer { updateEntries { $0.entries[address] = nil } }
        try await placement.work.run { [placement] in
            // A file that was removed in the meantime is not created again.
            guard access(placement.path(of: address), F_OK) == 0 else { return }
            try placement.openMakingRoom(address).close()
        }
    }

    func shutCondemned(_ address: DatabaseAddress) async {
        do {
            try await shut(address)
        } catch {
            // The error of the file was reported before.
        }
    }
}
