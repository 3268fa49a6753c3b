import StratusStorage

extension CloudService {
    /// The state of the service. Cheap: nothing is read from the storage.
    public var health: ServiceHealth {
        let condition = components.storage.condition
        let isDegraded = condition.damagedDatabases > 0 || condition.isReadOnly
        return ServiceHealth(
            status: components.errors.isStopped ? .notReady : isDegraded ? .degraded : .ready,
            damagedDatabases: condition.damagedDatabases, isReadOnly: condition.isReadOnly)
    }
}
