import Synchronization

/// What the mapping does in a task while it asks and tells the store. Who calls back from there waits for
/// what waits for it.
final class Engagement: Sendable {
    enum Work {
        case syncing
        /// Holds the queues of types.
        case saving
    }

    /// Also of tasks that a callback starts, until the work is over.
    @TaskLocal static var current: Engagement?

    private let mapping: ObjectIdentifier
    private let work: Work
    private let outer: Engagement?
    private let isOver = Mutex(false)

    init(_ mapping: CloudMapping, _ work: Work) {
        self.mapping = ObjectIdentifier(mapping)
        self.work = work
        outer = Self.current
    }

    func end() { isOver.withLock { $0 = true } }

    func isIn(_ works: [Work], of mapping: CloudMapping) -> Bool {
        if self.mapping == ObjectIdentifier(mapping), works.contains(work),
            !isOver.withLock({ $0 })
        {
            return true
        }
        return outer?.isIn(works, of: mapping) ?? false
    }
}

extension CloudMapping {
    /// Runs a body that others of this mapping wait for.
    func engaged<Value>(
        in work: Engagement.Work, _ body: () async throws -> Value
    ) async rethrows -> Value {
        let engagement = Engagement(self, work)
        defer { engagement.end() }
        return try await Engagement.$current.withValue(engagement) { try await body() }
    }

    /// Runs a body that has these types for itself.
    func holding<Value: Sendable>(
        _ types: Set<String>, _ body: () async throws -> Value
    ) async throws -> Value {
        try await lanes.holding(types) { try await engaged(in: .saving, body) }
    }

    /// - Throws: ``MappingError`` `insideCallback`.
    func refuseCallback(from works: Engagement.Work..., sentence: String) throws {
        guard let current = Engagement.current, current.isIn(works, of: self) else { return }
        throw MappingError(.insideCallback, sentence)
    }
}
