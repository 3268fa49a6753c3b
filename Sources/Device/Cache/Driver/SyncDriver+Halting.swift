import StratusSync
import Synchronization

/// The wait of a loop that an error of the device's own file halted.
extension SyncDriver {
    enum HaltedLoop {
        /// The loop runs, or waits for something else.
        case none
        /// The loop waits, and writes nothing, until the driver is started again.
        case waiting
        /// The loop still waits, but the halt has ended, for example because syncing was turned on again.
        case resumable
    }

    nonisolated var loopHalt: HaltedLoop { haltedLoop.withLock { $0 } }

    /// Waits while the session is halted. After an error of the device's own file the lock may be
    /// given back meanwhile, so the loop then continues only when `SyncTurn` has the lock again and
    /// calls ``start()`` or ``sync()``.
    func waitInHalt(_ reason: HaltReason) async {
        guard case .localStorage = reason else { return await wait(until: nil) }
        noteHaltedLoop(.waiting)
        while loopHalt != .none, !Task.isCancelled {
            await wait(until: nil)
            if loopHalt == .waiting, session.halt == nil { noteHaltedLoop(.resumable) }
        }
        haltedLoop.withLock { $0 = .none }
        session.othersMayHaveSynced()
    }

    private func noteHaltedLoop(_ state: HaltedLoop) {
        haltedLoop.withLock { $0 = state }
        haltListener.withLock { $0 }?()
    }
}
