import StratusClient
import StratusSync

/// One cloud database of a cache: its rows, and what keeps them in step.
struct CachedDatabase: Sendable {
    let store: CacheStore
    let driver: SyncDriver

    var scope: CKDatabase.Scope { store.scope }

    /// Tells the loop of something that is written down already: it may arrive late, but not be lost.
    func tellDriver(_ body: @escaping @Sendable (inout SyncSession, Double) -> Void) {
        _ = store.world.startTask("session change") { [driver] in await driver.change(body) }
    }
}
