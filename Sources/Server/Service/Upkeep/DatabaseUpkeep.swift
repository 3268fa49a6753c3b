import StratusRuntime
import StratusStorage

/// An operator's actions on all databases, one after the other.
struct DatabaseUpkeep: Sendable {
    let storage: any StorageEngine
    let tombstones: TombstonePurge
    let world: World

    /// Begins a new epoch in every database.
    ///
    /// - Returns: how many databases there are.
    /// - Throws: after all others are done, the error of a damaged one.
    func beginEpochs() async throws -> Int {
        try await forEveryDatabase { store in
            _ = try await store.write { try $0.beginEpoch() }
        }
    }

    /// Purges tombstones, regardless of their share of the rows.
    ///
    /// - Returns: the number of purged tombstones.
    /// - Throws: after all others are done, the error of a damaged one.
    func purgeTombstones(olderThanSeconds ageSeconds: Double) async throws -> Int {
        var purged = 0
        _ = try await forEveryDatabase { store in
            purged += try await tombstones.purge(
                store, world.nowMilliseconds(), share: 0, ageSeconds: ageSeconds)
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
                // A damaged database does not prevent the work on the others; its error is thrown
                // at the end.
                damage = damage ?? error
            }
        }
        if let damage { throw damage }
        return addresses.count
    }
}
