import StratusStorage

/// A number about the state of the service at this moment.
package struct ServiceFigure: Hashable, Sendable {
    package var name: String
    package var value: Double

    init(_ name: String, _ value: Int) {
        self.name = name
        self.value = Double(value)
    }
}

extension CloudService {
    /// The state of the service at this moment. None of the numbers is about a single user.
    package func figures() async -> [ServiceFigure] {
        let storage = storage.condition
        return [
            ServiceFigure("requests_in_work", pipeline.queue.inWork),
            ServiceFigure("requests_waiting", pipeline.queue.waiting),
            ServiceFigure("memory_held_bytes", memory.heldBytes),
            ServiceFigure("memory_held_peak_bytes", memory.peakBytes),
            ServiceFigure("memory_waiting", memory.waiting),
            ServiceFigure("memory_refusals", memory.refused),
            ServiceFigure("polls_waiting", await components.courier.waiting),
            ServiceFigure("outbox_age_seconds", components.notifications.oldestSeconds),
            ServiceFigure("databases_open", storage.openDatabases),
            ServiceFigure("databases_damaged", storage.damagedDatabases),
            ServiceFigure("read_only", storage.isReadOnly ? 1 : 0),
        ]
    }
}
