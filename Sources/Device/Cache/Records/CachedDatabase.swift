import StratusClient
import StratusRecords
import StratusSync

/// One cloud database of a cache: its rows, and what keeps them in step.
struct CachedDatabase: Sendable {
    let store: CacheStore
    let driver: SyncDriver

    var scope: CKDatabase.Scope { store.scope }

    /// Tells the loop of what is written down already: it may arrive late, but not be lost.
    ///
    /// - Parameters:
    ///   - zones: those of which the app wants something; the loop reads in the file what that is.
    ///   - hasChanges: whether there may be something to send.
    ///   - needsFetch: whether the database's changes must be fetched.
    func tellDriver(
        ofZones zones: [ZoneID], hasChanges: Bool = false, needsFetch: Bool = false
    ) {
        driver.inbox.withLock { inbox in
            inbox.zones.formUnion(zones)
            if hasChanges { inbox.hasChanges = true }
            if needsFetch { inbox.needsFetch = true }
        }
        _ = store.world.startTask("session change") { [driver] in await driver.readInbox() }
    }
}
