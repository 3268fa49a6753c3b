import Synchronization

/// Whether the process of a device has ended at a write.
final class KillSwitch: Sendable {
    private let state = Mutex(false)

    var isThrown: Bool { state.withLock { $0 } }

    func throwOver() { state.withLock { $0 = true } }
}
