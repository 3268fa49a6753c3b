import StratusRecords

/// Databases that nobody has used for a while are closed: that folds the write-ahead log into the file, and
/// gives back descriptors and memory. Only closing does, as the system's locks of a file keep the descriptors
/// of its closed connections while another one of the process is open. So are the logs of those that were
/// closed earlier, for want of room.
extension OpenDatabases {
    /// Starts to look for databases that have become idle, unless that is under way.
    func startClosingIdle() {
        guard let idleSeconds = placement.idleSeconds else { return }
        state.withLock { state in
            guard state.idleTask == nil, !state.isClosed else { return }
            state.idleTask = world.startTask("idle databases") { [weak self, world] in
                while true {
                    do {
                        try await world.sleep(idleSeconds)
                    } catch {
                        // Ends with the storage.
                        return
                    }
                    guard let self, await self.closeIdle(seconds: idleSeconds) else { return }
                }
            }
        }
    }

    /// - Returns: Whether there are databases to look at later.
    private func closeIdle(seconds: Double) async -> Bool {
        let latest = world.uptimeSeconds() - seconds
        while let address = state.withLock({ $0.longestUnused(before: latest) }) {
            do {
                try await shut(address)
            } catch {
                // All its writes were answered after their commits, and opening it again finds them; what is
                // wrong with the disk shows then.
            }
        }
        while let address = state.withLock({ $0.longestKept(before: latest) }) {
            do {
                try await removeLog(of: address)
            } catch {
                // All its writes were answered after their commits; the log goes when the database is next closed.
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
        guard !isClosed, let address = unused.first, let entry = entries[address],
            entry.usedAtSeconds <= latest
        else { return nil }
        return address
    }

    fileprivate func longestKept(before latest: Double) -> DatabaseAddress? {
        isClosed ? nil : keptLogs.first(usedBefore: latest)
    }
}
