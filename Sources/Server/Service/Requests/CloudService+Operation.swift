import StratusRecords
import StratusStorage

/// What an operator does.
extension CloudService {
    /// Deletes a user's zone with its records, and tells the user's devices why.
    ///
    /// The devices learn it from `changes/database`, whose `deletionReason` says `purged` or
    /// `encryptedDataReset`. Until somebody creates the zone again, saving into a purged one fails as
    /// `userDeletedZone`.
    ///
    /// - Parameters:
    ///   - name: a custom zone of the user's private database.
    ///   - user: the user record name.
    ///   - address: the container and its environment.
    ///   - reason: what the devices are told.
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

    /// Begins a new epoch in every database, so that change tokens and change tags of lost changes are never
    /// those of later ones.
    ///
    /// A service needs nobody to call it: its own first write to a database begins an epoch. It is for
    /// tools that put other data in a database's place.
    ///
    /// - Returns: how many databases there are.
    public func beginEpochs() async throws -> Int {
        try await databaseUpkeep.beginEpochs()
    }

    /// Purges tombstones of all databases, however few they are.
    ///
    /// - Parameter ageSeconds: how old they must be. Devices that were away for longer fetch in full.
    /// - Returns: how many were purged.
    public func purgeTombstones(olderThanSeconds ageSeconds: Double) async throws -> Int {
        try await databaseUpkeep.purgeTombstones(olderThanSeconds: ageSeconds)
    }

    /// Collects assets now and then, until its task is cancelled.
    public func runAssetCollection() async {
        await assetCollector.run()
    }

    /// Removes the assets that no record has held for `Limits.unreferencedAssetSeconds`, and what
    /// crashed uploads left behind.
    ///
    /// Never takes one that a record holds or that a good receipt names. Databases are looked through
    /// one after the other, in short transactions; what fails is left to the next time.
    @discardableResult
    public func collectAssets() async -> AssetCollection {
        await assetCollector.collect()
    }

    private var databaseUpkeep: DatabaseUpkeep {
        DatabaseUpkeep(
            storage: storage, tombstones: components.tombstones, settings: settings)
    }

    private var assetCollector: AssetCollector {
        AssetCollector(
            settings: settings, storage: storage, databases: components.databases,
            errors: components.errors)
    }
}
