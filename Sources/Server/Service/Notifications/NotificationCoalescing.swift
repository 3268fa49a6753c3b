import StratusRecords
import StratusRuntime
import Synchronization

/// Limits how often devices are notified: the first notification about a zone or database is delivered immediately, and
/// opens a window; those about the same for the same device within the window become one, which is delivered when the
/// window ends and opens the next.
///
/// A window is ``StratusRecords/Limits/gatheringSeconds`` long. It doubles with each round of a database that has a
/// backlog, up to ``StratusRecords/Limits/coalescingSeconds``, which is the window of devices behind Apple's push
/// service. A query's notification is about one change, so there is nothing to gather: it is delivered immediately.
final class NotificationCoalescing: Sendable {
    private struct Window {
        var task: Task<Void, Never>
        var keys: [Delivery.Key]
        /// Whether it has ended, and its notifications are being delivered.
        var isOver = false
    }

    private struct Held {
        var delivery: Delivery
        /// The length of the next window.
        var seconds: Double
    }

    private struct State {
        var windows: [Int: Window] = [:]
        /// The keys with a window, and the notifications that came since it opened.
        var open: Set<Delivery.Key> = []
        var held: [Delivery.Key: Held] = [:]
        var lastWindow = 0
    }

    private let limits: Limits
    private let world: World
    private let forward: @Sendable ([Delivery]) async -> Void
    private let state = Mutex(State())

    /// - Parameter deliver: Hands notifications to the devices' channels.
    init(
        limits: Limits, world: World, deliver: @escaping @Sendable ([Delivery]) async -> Void
    ) {
        self.limits = limits
        self.world = world
        forward = deliver
    }

    /// Delivers what may be delivered now; the rest follows when its window ends.
    ///
    /// - Parameter backlogRounds: How many rounds in a row of the database's dispatch had a backlog.
    func deliver(_ deliveries: [Delivery], backlogRounds: Int) async {
        let now = state.withLock { state in
            var now: [Delivery] = []
            var opened: [(key: Delivery.Key, seconds: Double)] = []
            for delivery in deliveries {
                let key = delivery.key
                let seconds = windowSeconds(of: delivery, backlogRounds)
                if state.open.contains(key) {
                    state.held[key] = Held(delivery: delivery, seconds: seconds)
                    continue
                }
                now.append(delivery)
                // Too many windows to keep: further notifications are delivered as they come.
                let hasRoom = state.open.count + opened.count < limits.waitingDevices
                if seconds > 0, hasRoom { opened.append((key, seconds)) }
            }
            open(opened, in: &state)
            return now
        }
        if !now.isEmpty { await forward(now) }
    }

    /// How many notifications are held back. Only tests read it: devices see nothing of them.
    var heldCount: Int { state.withLock { $0.held.count } }

    /// The task to wait for until nothing is held; it ends the waiting windows now.
    func nextStep() -> Task<Void, Never>? {
        state.withLock { state in
            for window in state.windows.values {
                if window.isOver { return window.task }
                guard window.keys.contains(where: { state.held[$0] != nil }) else { continue }
                window.task.cancel()
                return window.task
            }
            return nil
        }
    }

    private func windowSeconds(of delivery: Delivery, _ backlogRounds: Int) -> Double {
        guard delivery.payload.subject.notificationID == nil else { return 0 }
        guard delivery.device.channel == .courier else { return limits.coalescingSeconds }
        var seconds = limits.gatheringSeconds
        for _ in 0..<backlogRounds where seconds < limits.coalescingSeconds { seconds *= 2 }
        return max(limits.gatheringSeconds, min(seconds, limits.coalescingSeconds))
    }

    /// Opens windows, one for all keys with the same length.
    private func open(
        _ opened: [(key: Delivery.Key, seconds: Double)], in state: inout State
    ) {
        for seconds in Set(opened.map(\.seconds)).sorted() {
            let keys = opened.filter { $0.seconds == seconds }.map(\.key)
            state.open.formUnion(keys)
            state.lastWindow += 1
            state.windows[state.lastWindow] = Window(
                task: window(state.lastWindow, seconds), keys: keys)
        }
    }

    private func window(_ number: Int, _ seconds: Double) -> Task<Void, Never> {
        world.startTask("notification window") { [self] in
            // A sleep that throws was cut short to deliver what is held: then the window ends early, and nothing is
            // lost.
            try? await world.sleep(seconds)
            let due = state.withLock { end(number, in: &$0) }
            if !due.isEmpty { await forward(due) }
            state.withLock { $0.windows[number] = nil }
        }
    }

    /// Ends a window; the notifications that it held open the next.
    private func end(_ number: Int, in state: inout State) -> [Delivery] {
        guard let keys = state.windows[number]?.keys else { return [] }
        state.windows[number]?.isOver = true
        state.open.subtract(keys)
        let due = keys.compactMap { state.held.removeValue(forKey: $0) }
        open(due.map { ($0.delivery.key, $0.seconds) }, in: &state)
        return due.map(\.delivery)
    }
}
