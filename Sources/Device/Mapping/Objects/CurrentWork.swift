import Synchronization

/// The mapping's current work while it calls the store. A callback that waited for that work would
/// deadlock.
final class CurrentWork: Sendable {
    enum Work {
        case syncing
        /// Holds the queues of types.
        case saving
    }

    /// Also set in tasks that a callback starts, until the work is over.
    @TaskLocal static var current: CurrentWork?

    private let mapping: ObjectIdentifier
    private let work: Work
    private let outer: CurrentWork?
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
    /// Runs a body for which other calls of this mapping wait.
    func engaged<Value>(
        in work: CurrentWork.Work, _ body: () async throws -> Value
    ) async rethrows -> Value {
        let current = CurrentWork(self, work)
        defer { current.end() }
        return try await CurrentWork.$current.withValue(current) { try await body() }
    }

    /// Runs a body with exclusive access to these types.
    func holding<Value: Sendable>(
        _ types: Set<String>, _ body: () async throws -> Value
    ) async throws -> Value {
        try await lanes.holding(types) { try await engaged(in: .saving, body) }
    }

    /// - Throws: ``MappingError`` `insideCallback`.
    func refuseCallback(from works: CurrentWork.Work..., sentence: String) throws {
        guard let current = CurrentWork.current, current.isIn(works, of: self) else { return }
        throw MappingError(.insideCallback, sentence)
    }
}
