import Synchronization

/// The notification listeners of a connection: one for each container, shared by all its
/// subscribers.
///
/// A listener starts with its first subscriber and ends with its last.
final class NotificationListeners: Sendable {
    /// Receives events in order; nil means the end.
    typealias Subscriber = @Sendable (ChannelEvent?) -> Void

    private struct Listener {
        let number: Int
        var isOpen = false
        var subscribers: [Int: Subscriber] = [:]
        var task: Task<Void, Never>?
    }

    private struct State {
        var listeners: [String: Listener] = [:]
        /// Numbers listeners and subscribers, to distinguish them from earlier ones.
        var lastNumber = 0

        mutating func nextNumber() -> Int {
            lastNumber += 1
            return lastNumber
        }
    }

    private let state = Mutex(State())

    /// Subscribes to a container's events; if the listener is open already, the subscriber first
    /// gets that event.
    ///
    /// - Parameter start: starts the listener if none is running, and calls ``ended(_:of:)`` when
    ///   it ends.
    /// - Returns: the number to ``leave(_:of:)`` with.
    func join(
        _ container: String, _ subscriber: @escaping Subscriber,
        start: (_ number: Int) -> Task<Void, Never>
    ) -> Int {
        state.withLock { state in
            let number = state.nextNumber()
            var listener = state.listeners[container] ?? Listener(number: number)
            listener.subscribers[number] = subscriber
            if listener.isOpen { subscriber(.opened) }
            if listener.task == nil { listener.task = start(listener.number) }
            state.listeners[container] = listener
            return number
        }
    }

    func leave(_ number: Int, of container: String) {
        let (subscriber, task) = state.withLock { state -> (Subscriber?, Task<Void, Never>?) in
            let subscriber = state.listeners[container]?.subscribers.removeValue(forKey: number)
            guard subscriber != nil, state.listeners[container]?.subscribers.isEmpty == true else {
                return (subscriber, nil)
            }
            return (subscriber, state.listeners.removeValue(forKey: container)?.task)
        }
        task?.cancel()
        // Released outside the lock, because releasing what the closure holds may run any code.
        withExtendedLifetime(subscriber) {}
    }

    /// Passes an event to the subscribers of a listener; the events of a replaced listener are
    /// dropped.
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
            // Called within the lock, so that all subscribers get the events in the same order. A
            // subscriber only stores the event.
            for subscriber in listener.subscribers.inOrder { subscriber(event) }
        }
    }

    func ended(_ number: Int, of container: String) {
        let subscribers = state.withLock { state -> [Subscriber] in
            guard let listener = state.listeners[container], listener.number == number else {
                return []
            }
            state.listeners[container] = nil
            return listener.subscribers.inOrder
        }
        for subscriber in subscribers { subscriber(nil) }
    }
}

extension [Int: NotificationListeners.Subscriber] {
    /// In the order in which they subscribed, so that a repeated simulation runs the same way.
    fileprivate var inOrder: [NotificationListeners.Subscriber] {
        sorted { $0.key < $1.key }.map(\.value)
    }
}
