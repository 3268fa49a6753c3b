import Synchronization

/// Lets a loop wait for an event or for a time.
///
/// An event that comes before the wait ends it immediately, so that none is missed between checking what is due and
/// waiting for more. One loop waits at a time.
public final class WakeSignal: Sendable {
    private struct State {
        var isWoken = false
        var sleeper: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    /// Makes a signal without an event: the first wait does not end immediately.
    public init() {}

    /// Ends the wait, or the next one.
    public func wake() {
        let sleeper = state.withLock { state in
            let sleeper = state.sleeper.take()
            state.isWoken = sleeper == nil
            return sleeper
        }
        sleeper?.resume()
    }

    /// Forgets the events so far: they do not end the next wait.
    public func forget() { state.withLock { $0.isWoken = false } }

    /// Waits until ``wake()`` is called, the task is cancelled, or the time is over.
    ///
    /// - Parameters:
    ///   - uptimeSeconds: when to stop waiting, on the world's clock; a duration would not count the time until the
    ///     sleep begins. Nil waits without a limit.
    ///   - world: the world with the clock.
    public func wait(
        until uptimeSeconds: Double?, in world: World
    ) async {
        if takeWoken() { return }
        let timer = uptimeSeconds.map { uptimeSeconds in
            world.startTask("wake timer") { [self] in
                // A sleep only throws when it is cancelled: then the loop has been woken already, and nothing is lost.
                try? await world.sleep(max(0, uptimeSeconds - world.uptimeSeconds()))
                if !Task.isCancelled { wake() }
            }
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isWoken = state.withLock { state in
                    if !state.isWoken { state.sleeper = continuation }
                    return state.isWoken
                }
                if isWoken { continuation.resume() }
            }
        } onCancel: {
            wake()
        }
        forget()
        timer?.cancel()
    }

    private func takeWoken() -> Bool {
        state.withLock { state in
            defer { state.isWoken = false }
            return state.isWoken
        }
    }
}
