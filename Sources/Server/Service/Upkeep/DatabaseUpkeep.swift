import StratusRuntime
import StratusStorage

/// What an operator does to all databases, one after the other.
struct DatabaseUpkeep: Sendable {
    let storage: any StorageEngine
    let tombstones: TombstonePurge
    let settings: ServiceSettings

    /// Begins a new epoch in every database.
    ///
    /// - Returns: how many databases there are.
    /// - Throws: when all others are done, what is wrong with one that is damaged.
    func beginEpochs() async throws -> Int {
        try await forEveryDatabase { store in
            _ = try await store.write { try $0.beginEpoch() }
        }
    }

    /// Purges tombstones whatever part of the rows they are.
    ///
    /// - Returns: how many went.
    /// - Throws: when all others are done, what is wrong with one that is damaged.
    func purgeTombstones(olderThanSeconds ageSeconds: Double) async throws -> Int {
        var purged = 0
        _ = try await forEveryDatabase { store in
            purged += try await tombstones.purge(
                store, settings.world.nowMilliseconds(), share: 0, ageSeconds: ageSeconds)
        }
        return purged
    }

    /// - Returns: how many databases there are.
    private func forEveryDatabase(
        _ work: (any RecordStore) async throws -> Void
    ) async throws -> Int {
        let addresses = try await storage.databases()
        var damage: StorageError?
        for address in addresses {
            do {
                try await work(try await storage.store(for: address))
            } catch let error as StorageError where error.database != nil {
                // One user's trouble keeps nobody else from what has to be done.
                damage = damage ?? error
            }
        }
        if let damage { throw damage }
        return addresses.count
    }
}
