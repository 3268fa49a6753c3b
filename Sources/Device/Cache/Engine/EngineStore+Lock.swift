import StratusClient
import StratusRuntime
import StratusSyncEngine

/// Keeps two engines from syncing one file at the same time, in one process or two: the store that has the database's
/// lock (``CacheLock``) syncs.
///
/// A store without it stores nothing of its engine, and sends nothing. It tries again when the lock is given back and at
/// the next fetch, and then returns to the state that is in the file (`recover`), as after an event that could not be
/// written.
extension EngineStore {
    /// Seconds between attempts to take the lock: on some systems nothing is reported when the process that holds it ends.
    private static let lookSeconds: Double = 5

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

    /// Has an engine fetch as soon as the store has the lock.
    func waitForLock(_ engine: CKSyncEngine) {
        let isWaiting = state.withLock { state in
            defer { state.isWaitingForLock = true }
            state.waitingEngine = engine
            return state.isWaitingForLock
        }
        guard !isWaiting else { return }
        let (world, signal) = (store.world, lockSignal)
        // Before the first attempt, so that no release of the lock is missed.
        store.engineLockSignals.withLock { $0.append(signal) }
        _ = world.startTask("engine's lock") { [weak self] in
            while await self?.isStillLockedOut() == true {
                await signal.wait(until: world.uptimeSeconds() + Self.lookSeconds, in: world)
            }
        }
    }

    /// Takes the lock for the engine that waits for it, if it is free.
    private func isStillLockedOut() async -> Bool {
        guard let engine = lockedOutEngine() else { return false }
        do {
            try takeLock()
        } catch {
            // Another engine still has it, as `failure` says.
            return true
        }
        await engine.fetchSoon(nil)
        // Ends the wait, now that the store is not locked out.
        return lockedOutEngine() != nil
    }

    /// The engine that waits for the lock; if there is none, the wait ends, and the next engine begins another.
    private func lockedOutEngine() -> CKSyncEngine? {
        state.withLock { state in
            let engine = state.isLockedOut ? state.waitingEngine : nil
            state.isWaitingForLock = engine != nil
            if engine == nil { endWaiting() }
            return engine
        }
    }

    private func endWaiting() {
        let signal = lockSignal
        store.engineLockSignals.withLock { $0.removeAll { $0 === signal } }
    }

    func giveLockBack() {
        endWaiting()
        // Ends the task that waits.
        lockSignal.wake()
        let own = ObjectIdentifier(self)
        let store = store
        store.engineLockOwner.withLock { owner in
            guard owner == own else { return }
            owner = nil
            // Before the next store of this cache can take it.
            store.file.lock.giveBack(store.scope, for: .engineStore)
        }
        store.wakeEngines()
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
