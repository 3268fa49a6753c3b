import StratusClient
import StratusRecords
import StratusSync

/// Whole zones, and all of them.
///
/// ```swift
/// try await cache.detachZone(trip)  // from now on this device's own
/// try await cache.attachZone(trip)  // in step again
/// try await cache.refetchEverything()  // "something looks wrong"
/// try await cache.deleteEverything()  // "delete my data"
/// ```
extension CloudCache {
    /// Fetches everything again, as if this device were new, when the next sync or a running loop comes to it.
    ///
    /// What is pending stays pending. What the service has no more is removed here and told as
    /// ``CacheEvent/recordsMissing(_:)``.
    ///
    /// - Throws: SQLite's error.
    public func refetchEverything() async throws {
        for database in databases {
            let store = database.store
            let zones = try await file.disk.write { try store.forgetTokens() }
            await database.driver.change { session, _ in
                session.notified(of: nil)
                session.zonesChanged(zones)
            }
        }
    }

    /// Deletes all records and zones, here at once and at the service with the next sync, also those zones that
    /// this device has not heard of.
    ///
    /// It works offline. What is made afterwards stays. In the shared database it leaves all shares. Records of the default
    /// zone, which the cache does not keep, stay at the service.
    ///
    /// - Parameter scopes: which databases; the private one by default.
    /// - Throws: ``CacheError`` `invalidDatabase`, or SQLite's error.
    public func deleteEverything(in scopes: Set<CKDatabase.Scope> = [.private]) throws {
        let chosen = try scopes.sorted { $0.rawValue < $1.rawValue }.map { try database($0) }
        for database in chosen {
            observers.tell(try database.store.unwantEverything())
            let backlog = try database.store.backlog()
            database.tellDriver(ofZones: backlog.zonesToDelete, needsFetch: true)
        }
    }

    /// Takes a zone out of syncing: its records stay here as they are, may be read and edited, and are neither sent nor
    /// fetched. At the service nothing changes.
    ///
    /// - Throws: ``CacheError`` `invalidZone` for a zone that is not here, or SQLite's error.
    public func detachZone(
        _ id: CKRecordZone.ID, in scope: CKDatabase.Scope = .private
    ) throws {
        try database(scope).store.detach(ZoneID(id))
    }

    /// Brings a detached zone in step again: it is fetched as a whole, edits that were made meanwhile are merged as after
    /// any time offline, and a zone that was deleted elsewhere is made anew.
    ///
    /// - Throws: ``CacheError`` `invalidZone` for a zone that is not here, or that is shared with the user no more;
    ///   or SQLite's error.
    public func attachZone(
        _ id: CKRecordZone.ID, in scope: CKDatabase.Scope = .private
    ) throws {
        let (database, zone) = (try database(scope), ZoneID(id))
        try database.store.attach(zone)
        database.tellDriver(ofZones: [zone], hasChanges: true)
    }

    /// Whether a zone is taken out of syncing; see `detachZone(_:in:)`.
    public func isDetached(
        _ id: CKRecordZone.ID, in scope: CKDatabase.Scope = .private
    ) throws -> Bool {
        try database(scope).store.isDetached(ZoneID(id))
    }
}
