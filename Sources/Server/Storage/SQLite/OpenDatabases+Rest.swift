import StratusRecords

extension OpenDatabases {
    /// Starts to look for databases that have become idle, unless somebody does.
    func startResting() {
        guard let idleSeconds = placement.idleSeconds else { return }
        let isFirst = state.withLock { state in
            guard !state.isResting, !state.isClosed, state.restless.first != nil else {
                return false
            }
            state.isResting = true
            return true
        }
        guard isFirst else { return }
        let task = world.startTask("idle databases") { [weak self, world] in
            var hasMore = true
            while hasMore {
                do {
                    try await world.sleep(idleSeconds)
                } catch {
                    // Ends with the storage.
                    return
                }
                guard let self else { return }
                await rest(idleFor: idleSeconds)
                hasMore = endRound()
            }
        }
        state.withLock { $0.resting = task }
    }

    /// Has the databases that nobody has used for a time give back what they do not need.
    func rest(idleFor seconds: Double) async {
        let latest = world.uptimeSeconds() - seconds
        while let address = state.withLock({ $0.takeRestless(usedBefore: latest) }) {
            do {
                try await restOne(address)
            } catch {
                // Nothing was lost: the log is kept, and its next use tells what is wrong with the file.
            }
        }
    }

    private func restOne(_ address: DatabaseAddress) async throws {
        guard let database = claimForRest(address) else { return }
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await placement.work.run { try database.rest() })
        } catch {
            outcome = .failure(error)
        }
        if releaseFromRest(address) { await shutCondemned(address) }
        try outcome.get()
    }

    /// - Returns: Whether there are databases to look at later.
    private func endRound() -> Bool {
        state.withLock { state in
            state.isResting = state.restless.first != nil && !state.isClosed
            return state.isResting
        }
    }
}

extension OpenDatabases.State {
    /// The database that was used before a moment and has not rested since.
    fileprivate mutating func takeRestless(usedBefore latest: Double) -> DatabaseAddress? {
        guard !isClosed, let address = restless.first else { return nil }
        guard let entry = entries[address], entry.uses == 0 else {
            // It is in use, or closed; the end of its use appends it again.
            restless.remove(address)
            return takeRestless(usedBefore: latest)
        }
        guard entry.usedAtSeconds <= latest else { return nil }
        restless.remove(address)
        return address
    }
}
