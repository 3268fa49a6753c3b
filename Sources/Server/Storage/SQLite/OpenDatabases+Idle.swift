import StratusRecords

/// Closes databases that have not been used for a while. This moves the write-ahead log into the file, and releases
/// descriptors and memory. It needs all connections to be closed: because of POSIX locks, SQLite keeps the descriptors
/// of closed connections while another connection of the process is open. The logs of databases that were closed
/// earlier, to make room, are removed too.
extension OpenDatabases {
    /// Starts to watch for databases that have become idle, unless that is running.
    func startClosingIdle() {
        guard let idleSeconds = placement.idleSeconds else { return }
        state.withLock { state in
            guard state.idleTask == nil, !state.isClosed else { return }
            state.idleTask = world.startTask("idle databases") { [weak self, world] in
                while true {
                    do {
                        try await world.sleep(idleSeconds)
                    } catch {
                        // The storage is being closed, which closes all databases.
                        return
                    }
                    guard let self, await self.closeIdle(seconds: idleSeconds) else { return }
                }
            }
        }
    }

    /// - Returns: Whether there are databases to check later.
    private func closeIdle(seconds: Double) async -> Bool {
        let latest = world.uptimeSeconds() - seconds
        while let address = state.withLock({ $0.longestUnused(before: latest) }) {
            do {
                try await shut(address)
            } catch {
                // All its writes were answered after their commits, and opening it again finds them. If
                // the disk fails, that opening reports it.
            }
        }
        while let address = state.withLock({ $0.longestKept(before: latest) }) {
            do {
                try await removeLog(of: address)
            } catch {
                // All its writes were answered after their commits; the log is removed when the database is next
                // closed.
            }
        }
        return state.withLock { state in
            let isEmpty = state.entries.isEmpty && state.keptLogs.first == nil
            if isEmpty || state.isClosed { state.idleTask = nil }
            return state.idleTask != nil
        }
    }
}

extension OpenDatabases.State {
    fileprivate func longestUnused(before latest: Double) -> DatabaseAddress? {
        guard !isClosed, let address = unused.oldestEntry?.key, let entry = entries[address],
            entry.usedAtSeconds <= latest
        else { return nil }
        return address
    }

    fileprivate func longestKept(before latest: Double) -> DatabaseAddress? {
        isClosed ? nil : keptLogs.first(usedBefore: latest)
    }
}
