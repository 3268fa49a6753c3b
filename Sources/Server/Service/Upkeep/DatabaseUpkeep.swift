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
    func beginEpochs() async throws -> Int {
        let addresses = try await storage.databases()
        for address in addresses {
            let store = try await storage.store(for: address)
            _ = try await store.write { try $0.beginEpoch() }
        }
        return addresses.count
    }

    /// Purges tombstones whatever part of the rows they are.
    ///
    /// - Returns: how many went.
    func purgeTombstones(olderThanSeconds ageSeconds: Double) async throws -> Int {
        var purged = 0
        for address in try await storage.databases() {
            purged += try await tombstones.purge(
                try await storage.store(for: address), settings.world.nowMilliseconds(), share: 0,
                ageSeconds: ageSeconds)
        }
        return purged
    }
}
