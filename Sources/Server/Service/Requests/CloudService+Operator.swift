import StratusRecords
import StratusStorage

/// The operator's actions.
extension CloudService {
    /// Deletes a user's zone with its records, for a reason that the user's devices can see.
    ///
    /// The devices see it in `changes/database`, whose `deletionReason` is `purged` or
    /// `encryptedDataReset`. Until the zone is created again, saving into a purged one fails as
    /// `userDeletedZone`.
    ///
    /// - Parameters:
    ///   - name: a custom zone of the user's private database.
    ///   - user: the user record name.
    ///   - address: the container and its environment.
    ///   - reason: the reason that the devices see.
    /// - Returns: whether there was such a zone.
    /// - Throws: `ServiceError` for the default zone, and `StorageError` when the
    ///   store is not available.
    @discardableResult
    public func removeZone(
        named name: String, of user: String, at address: ContainerAddress,
        reason: ZoneRow.Deletion
    ) async throws -> Bool {
        try await components.zoneRemoval.remove(named: name, of: user, at: address, reason: reason)
    }

    /// Begins a new epoch in every database, so that change tokens and change tags of lost changes are never equal to
    /// later ones.
    ///
    /// A service does this by itself at its first write to a database. Call it from tools that replace the data of a
    /// database.
    ///
    /// - Returns: how many databases there are.
    public func beginEpochs() async throws -> Int {
        try await databaseUpkeep.beginEpochs()
    }

    /// Purges tombstones of all databases, however few there are.
    ///
    /// - Parameter ageSeconds: the least age of a tombstone to purge. Devices that were away for longer fetch in full.
    /// - Returns: the number of purged tombstones.
    public func purgeTombstones(olderThanSeconds ageSeconds: Double) async throws -> Int {
        try await databaseUpkeep.purgeTombstones(olderThanSeconds: ageSeconds)
    }

    /// Collects assets at intervals, until its task is cancelled.
    public func runAssetCollection() async {
        await assetCollector.run()
    }

    /// Removes the assets that no record has held for `Limits.unreferencedAssetSeconds`, and what
    /// crashed uploads left behind.
    ///
    /// Never removes an asset that a record holds or that a valid receipt names. Databases are searched one after the
    /// other, in short transactions; one that fails is counted, logged and left for the next collection.
    @discardableResult
    public func collectAssets() async -> AssetCollection {
        await assetCollector.collect()
    }

    private var databaseUpkeep: DatabaseUpkeep {
        DatabaseUpkeep(
            storage: storage, tombstones: components.tombstones, world: settings.world)
    }

    private var assetCollector: AssetCollector {
        AssetCollector(
            limits: settings.limits, world: settings.world, databases: components.databases,
            errors: components.errors)
    }
}
