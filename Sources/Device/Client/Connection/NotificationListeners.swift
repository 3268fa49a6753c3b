import Synchronization

/// The listeners of a connection, one for each container: whoever wants to hear of a container's
/// notifications hears them of the same one.
///
/// A listener begins with the first who wants to hear and ends with the last.
final class NotificationListeners: Sendable {
    /// Takes events in their order; nil is the end.
    typealias Hearing = @Sendable (ChannelEvent?) -> Void

    private struct Listener {
        let number: Int
        var isOpen = false
        var hearings: [Int: Hearing] = [:]
        var task: Task<Void, Never>?
    }

    private struct State {
        var listeners: [String: Listener] = [:]
        /// Tells listeners, and those who hear, from earlier ones.
        var lastNumber = 0

        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }

    private let state = Mutex(State())

    /// Lets somebody hear a container's events; who comes while the listener is open is told so first.
    ///
    /// - Parameter start: starts the listener where there is none, and calls ``ended(_:of:)`` at its end.
    /// - Returns: the number to ``leave(_:of:)`` with.
    func join(
        _ container: String, _ hearing: @escaping Hearing,
        start: (_ number: Int) -> Task<Void, Never>
    ) -> Int {
        state.withLock { state in
            let number = state.nextNumber()
            var listener = state.listeners[container] ?? Listener(number: number)
            listener.hearings[number] = hearing
            if listener.isOpen { hearing(.opened) }
            if listener.task == nil { listener.task = start(listener.number) }
            state.listeners[container] = listener
            return number
        }
    }

    func leave(_ number: Int, of container: String) {
        let (hearing, task) = state.withLock { state -> (Hearing?, Task<Void, Never>?) in
            let hearing = state.listeners[container]?.hearings.removeValue(forKey: number)
            guard hearing != nil, state.listeners[container]?.hearings.isEmpty == true else {
                return (hearing, nil)
            }
            return (hearing, state.listeners.removeValue(forKey: container)?.task)
        }
        task?.cancel()
        // Let go of outside the lock: nobody knows what it holds.
        withExtendedLifetime(hearing) {}
    }

    /// Tells those who hear a listener; one that nobody hears any more says nothing.
    func report(_ event: ChannelEvent, by number: Int, of container: String) {
        state.withLock { state in
            guard var listener = state.listeners[container], listener.number == number else {
                return
            }
            switch event {
            case .opened: listener.isOpen = true
            case .closed: listener.isOpen = false
            case .notification: break
            }
            state.listeners[container] = listener
            // In the lock, so that all hear everything in one order. Nobody does more than take it.
            for hearing in listener.hearings.inOrder { hearing(event) }
        }
    }

    func ended(_ number: Int, of container: String) {
        let hearings = state.withLock { state -> [Hearing] in
            guard let listener = state.listeners[container], listener.number == number else {
                return []
            }
            state.listeners[container] = nil
            return listener.hearings.inOrder
        }
        for hearing in hearings { hearing(nil) }
    }
}

extension [Int: NotificationListeners.Hearing] {
    /// In the order in which they came: a run that is repeated is the same one.
    fileprivate var inOrder: [NotificationListeners.Hearing] {
        sorted { $0.key < $1.key }.map(\.value)
    }
}
