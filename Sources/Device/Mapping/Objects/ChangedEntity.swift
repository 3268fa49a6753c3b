/// An object that the mapping changed: filled from a record, linked, or removed.
public struct ChangedEntity: Sendable {
    public var entityType: any CloudEntity.Type
    public var syncID: String
}

extension CloudMapping {
    /// The objects that change by what comes from the cloud, from now on: a screen that shows one can
    /// follow. An object is told of when its fields are filled, and again when its references are.
    ///
    /// ``CloudObject`` tells its observers by itself.
    public func changes() -> AsyncStream<ChangedEntity> {
        let (changes, continuation) = AsyncStream.makeStream(of: ChangedEntity.self)
        let key = state.withLock { state in
            state.tickets += 1
            state.watchers[state.tickets] = continuation
            return state.tickets
        }
        continuation.onTermination = { [weak self] _ in
            _ = self?.state.withLock { $0.watchers.removeValue(forKey: key) }
        }
        return changes
    }

    func announce(_ type: any CloudEntity.Type, _ name: String) {
        let watchers = state.withLock { Array($0.watchers.values) }
        for watcher in watchers { watcher.yield(ChangedEntity(entityType: type, syncID: name)) }
    }
}
