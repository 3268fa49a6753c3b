import StratusStorage

extension CloudService {
    /// How the service is doing now. Cheap: nothing is read for it.
    public var health: ServiceHealth {
        let condition = components.storage.condition
        let isDegraded = condition.damagedDatabases > 0 || condition.isReadOnly
        return ServiceHealth(
            status: components.errors.isStopped ? .notReady : isDegraded ? .degraded : .ready,
            damagedDatabases: condition.damagedDatabases, isReadOnly: condition.isReadOnly)
    }
}
