import Synchronization

/// Where the loop of a shell waits for an event or for a time.
///
/// An event that comes before the wait ends it at once, so none is missed between the look at what is
/// due and the wait for more. One loop waits at a time.
public final class WakeSignal: Sendable {
    private struct State {
        var isWoken = false
        var sleeper: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

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

    /// What came until now is no reason to go on.
    public func forget() { state.withLock { $0.isWoken = false } }

    /// Waits until somebody wakes the loop, its task is cancelled, or the time is over.
    ///
    /// - Parameters:
    ///   - uptimeSeconds: a time of the clock, as what is left of it shrinks until the sleep begins;
    ///     nil waits without end.
    ///   - world: has the clock.
    public func wait(
        until uptimeSeconds: Double?, in world: World
    ) async {
        if takeWoken() { return }
        let timer = uptimeSeconds.map { uptimeSeconds in
            world.startTask("wake timer") { [self] in
                // Only cancellation ends a sleep early, and then somebody else has woken the loop.
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
