import StratusClient
import StratusSyncEngine

/// Keeps two engines from syncing one file at the same time, in one process or two: the store that has the database's
/// lock (``CacheLock``) syncs.
///
/// A store without it stores nothing of its engine, and sends nothing. As after an event that could not be written, it
/// tries again at the next fetch, and then returns to the state that is in the file (`recover`).
extension EngineStore {
    /// Takes the lock, if it is free or this store has it.
    ///
    /// - Throws: ``CacheError`` `inUse`.
    func takeLock() throws {
        let own = ObjectIdentifier(self)
        let store = store
        let isTaken = store.engineLockOwner.withLock { owner in
            guard owner == nil || owner == own else { return false }
            // Each use of a closed file throws an error that says so.
            let isTaken =
                store.file.isClosed || store.file.lock.take(store.scope, for: .engineStore)
            owner = isTaken ? own : nil
            return isTaken
        }
        state.withLock { state in
            state.isLockedOut = !isTaken
            // Their answers are not stored: whether they arrived stays open, as after the end of a process.
            if !isTaken { state.sent = [:] }
        }
        guard isTaken else { throw CacheError.syncedElsewhere(store) }
    }

    /// Takes the lock when the store is made: the newest store of a cache replaces those before it, whose engines may be
    /// released a little later.
    func takeLockFromEarlierStores() {
        store.engineLockOwner.withLock { $0 = ObjectIdentifier(self) }
        do {
            try takeLock()
        } catch {
            state.withLock { $0.failure = error }
        }
    }

    func giveLockBack() {
        let own = ObjectIdentifier(self)
        let store = store
        store.engineLockOwner.withLock { owner in
            guard owner == own else { return }
            owner = nil
            // Before the next store of this cache can take it.
            store.file.lock.giveBack(store.scope, for: .engineStore)
        }
    }
}

extension CacheError {
    /// The error of an engine whose file is synced by another one.
    fileprivate static func syncedElsewhere(_ store: CacheStore) -> CacheError {
        CacheError(
            .inUse,
            "Another process, cache or EngineStore syncs the \(store.scope) database of the cache's file"
                + " \(store.file.path), so this engine waits. Keep one engine for a file.")
    }
}
