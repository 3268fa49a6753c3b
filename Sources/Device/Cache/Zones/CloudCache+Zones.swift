import StratusClient
import StratusRecords
import StratusSync

/// Operations on whole zones and on all zones.
///
/// ```swift
/// try await cache.detachZone(trip)  // from now on only on this device
/// try await cache.attachZone(trip)  // synced again
/// try await cache.refetchEverything()  // "something looks wrong"
/// try await cache.deleteEverything()  // "delete my data"
/// ```
extension CloudCache {
    /// Fetches everything again, as on a new device, with the next sync or in the running loop.
    ///
    /// Pending changes stay pending. First the latest changes are fetched, which show what was deleted, and whether the
    /// service lost something that is only here. Records that the service does not have, and whose deletion it does not
    /// report, are removed here and reported with ``CacheEvent/recordsMissing(_:)``. Encrypted values that were fetched
    /// before this device had the account's key are read then.
    ///
    /// - Throws: SQLite's error.
    public func refetchEverything() async throws {
        for database in databases {
            let store = database.store
            let zones = try await file.disk.write { try store.refetchEverything() }
            await database.driver.change { session, _ in
                session.notified(of: nil)
                session.zonesChanged(zones)
            }
        }
    }

    /// Deletes all records and zones, here at once and at the service with the next sync, including
    /// zones that are unknown to this device.
    ///
    /// It works offline. Records and zones that are created afterwards stay. In the shared database
    /// it leaves all shares. Records of the default zone, which the cache does not keep, stay at
    /// the service.
    ///
    /// - Parameter scopes: the databases; the private one by default.
    /// - Throws: ``CacheError`` `invalidDatabase`, or SQLite's error; then nothing is deleted in any of the databases.
    public func deleteEverything(in scopes: Set<CKDatabase.Scope> = [.private]) throws {
        let chosen = try scopes.sorted { $0.rawValue < $1.rawValue }.map { try database($0) }
        let deletions = try file.write { connection in
            try chosen.map { try $0.store.deleteAllZones(connection) }
        }
        for (database, deletion) in zip(chosen, deletions) {
            observers.notify(deletion.outcome)
            database.notifyDriver(ofZones: deletion.zones, needsFetch: true)
        }
    }

    /// Stops syncing a zone: its records stay here, can be read and edited, and are neither sent
    /// nor fetched. At the service nothing changes.
    ///
    /// - Throws: ``CacheError`` `invalidZone` for a zone that is not here, or SQLite's error.
    public func detachZone(
        _ id: CKRecordZone.ID, in scope: CKDatabase.Scope = .private
    ) throws {
        try database(scope).store.detach(ZoneID(id))
    }

    /// Resumes syncing a detached zone: it is fetched, edits made meanwhile are merged as after any
    /// time offline, and a zone that was deleted elsewhere is created again.
    ///
    /// - Throws: ``CacheError`` `invalidZone` for a zone that is not here, or that is no longer
    ///   shared with the user; or SQLite's error.
    public func attachZone(
        _ id: CKRecordZone.ID, in scope: CKDatabase.Scope = .private
    ) throws {
        let (database, zone) = (try database(scope), ZoneID(id))
        observers.notify(try database.store.attach(zone))
        database.notifyDriver(ofZones: [zone], hasChanges: true)
    }

    /// Whether a zone is detached; see `detachZone(_:in:)`.
    public func isDetached(
        _ id: CKRecordZone.ID, in scope: CKDatabase.Scope = .private
    ) throws -> Bool {
        try database(scope).store.isDetached(ZoneID(id))
    }
}
