/// A device whose storage is full.
extension SyncSession {
    /// Notes that the outcome of the operation could not be stored because the device's storage is
    /// full: the operation is repeated after a pause, without limit.
    public mutating func storageFailed(_ failure: SyncFailure, at uptimeSeconds: Double) {
        if operation == .fetchDatabaseChanges { needsDatabaseFetch = true }
        penalise(
            failure, isCounted: false, at: uptimeSeconds,
            ceilingSeconds: settings.maximumOfflineDelaySeconds)
    }
}
